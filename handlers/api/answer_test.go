package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASuccessIsCompressedForWhoCanReadIt(t *testing.T) {
	s := start(t, settings{})
	for _, c := range []struct {
		accept     string
		compressed bool
	}{
		{"", false}, {"gzip", true}, {"deflate, gzip;q=0.5, br", true}, {"GZIP", true},
		{"identity", false}, {"gzip;q=0", false}, {"gzip; q=0.000", false}, {"gzipped", false}, {"br", false},
	} {
		t.Run(c.accept, func(t *testing.T) {
			for range 2 { // the second time with a used compressor
				got := s.query(t, wellFormed, "Accept-Encoding: "+c.accept)
				require.Equal(t, http.StatusOK, got.status)
				require.Contains(t, got.header.Values("Vary"), "Accept-Encoding")
				if !c.compressed {
					require.Empty(t, got.header.Get("Content-Encoding"))
					require.Equal(t, `{"message":"success"}`, got.body)
					continue
				}
				require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
				require.Equal(t, `{"message":"success"}`, gunzip(t, got.body))
			}
		})
	}
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}
