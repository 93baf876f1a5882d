package execution_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/handlers/execution"
)

func TestWhatIsForwardedOfAClientIsNeitherItsConnectionNorASecretOfOurs(t *testing.T) {
	header := http.Header{}
	for name, value := range map[string]string{
		"Authorization": "Bearer abc", "Cookie": "a=b", "X-Request-Id": "7", "User-Agent": "curl", "Content-Length": "12",
		"Accept-Encoding": "gzip", "X-Service-Admin-Secret": "secret", "X-Hasura-User-Id": "3", "DNT": "1", "Connection": "close",
		"Content-MD5": "x", "Host": "us", "Origin": "http://us", "Referer": "http://us/x", "Accept": "*/*", "Accept-Language": "pt", "Accept-Datetime": "x",
		"Cache-Control": "no-cache", "Content-Type": "text/plain", "X-Forwarded-For": "10.1.1.1",
	} {
		header.Set(name, value)
	}
	forwarded := execution.Client{Header: header, Host: "api.example.com"}.Forwarded()
	require.Equal(t, http.Header{
		"Authorization": {"Bearer abc"}, "Cookie": {"a=b"}, "X-Request-Id": {"7"}, "X-Forwarded-For": {"10.1.1.1"},
		"X-Forwarded-Host": {"api.example.com"}, "X-Forwarded-User-Agent": {"curl"},
	}, forwarded)
	require.Equal(t, "12", header.Get("Content-Length"), "the request's own header is left as it was")
	require.Empty(t, execution.Client{}.Forwarded())
}

func TestOnlyCookiesAreHandedOnToTheClient(t *testing.T) {
	heard := http.Header{"Set-Cookie": {"first=1"}}
	said := http.Header{"Set-Cookie": {"a=b", "c=d"}, "X-Other": {"no"}}
	execution.Client{Answer: heard}.PassOn(said)
	require.Equal(t, http.Header{"Set-Cookie": {"first=1", "a=b", "c=d"}}, heard)
	require.NotPanics(t, func() { execution.Client{}.PassOn(said) }, "a client that hears nothing")
}
