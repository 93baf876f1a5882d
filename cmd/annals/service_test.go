package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSecretGoesToTheServerThatWasNamedAndNoFurther(t *testing.T) {
	told := make(chan http.Header, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header }))
	defer elsewhere.Close()
	named := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer named.Close()

	_, err := remote(named.URL, "of the admin").post(t.Context(), []byte(`{}`))
	require.ErrorContains(t, err, "307 Temporary Redirect")
	require.ErrorContains(t, err, elsewhere.URL, "whoever typed the URL can decide to trust the other")
	require.Empty(t, told)
}
