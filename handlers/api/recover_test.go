package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestAPanicAmidAnAnswerCutsTheConnection(t *testing.T) {
	for _, c := range []struct {
		name   string
		cause  any
		logged []string
	}{
		{"an unexpected one", "at the disco", []string{LineInternal, LineHTTP}},
		{"one that asks for it", http.ErrAbortHandler, []string{LineHTTP}},
	} {
		t.Run(c.name, func(t *testing.T) {
			logged := make(chan string, 2)
			a := &API{
				cfg:    Config{}.withDefaults(),
				meters: newMeters(prometheus.NewRegistry()),
				log:    func(_ context.Context, line Line) { logged <- line.Type },
			}
			handler := a.tell(a.recover(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "half of it")
				_ = http.NewResponseController(w).Flush()
				panic(c.cause)
			})))
			server := httptest.NewServer(handler)
			defer server.Close()
			answer, err := server.Client().Get(server.URL)
			require.NoError(t, err)
			defer answer.Body.Close()
			_, err = io.ReadAll(answer.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the client can tell that it is not the whole")
			for _, kind := range c.logged {
				require.Equal(t, kind, <-logged)
			}
		})
	}
}
