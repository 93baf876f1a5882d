package auth

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Limits of calls that leave.
const (
	connectTimeout  = 5 * time.Second
	idleConnections = 32 // to one host: each request without a secret asks the webhook
	idleTimeout     = time.Minute
	maxAnswerHeader = 64 << 10
)

// NewClient returns a client for calls to the webhook and to sources of keys.
// How long a call may take and how much it may answer, its caller says.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true, // what is read is limited as it comes
		ForceAttemptHTTP2:      true,
	}}
}

// staying is a client that follows no redirect: credentials go where the
// operator said, and nowhere else.
func staying(c *http.Client) *http.Client {
	stays := *c
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	stays.Jar = nil
	return &stays
}

// readAtMost reads an answer of limited size.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return body, err
}

// checkURL refuses what no call can go to.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("this is no URL") // the reason would repeat a text that may hold a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("expecting a URL that begins with http:// or https:// and a host")
	}
	return nil
}

// cause is why a call failed, without the URL: that may hold a password.
func cause(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
