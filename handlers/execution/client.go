package execution

import (
	"net/http"
	"slices"
	"strings"

	"annals/domain"
)

// Client is who asked over HTTP, for the servers that help to answer: what they
// may be told of the request, and where what they say to the client goes. The
// zero Client says nothing and hears nothing.
type Client struct {
	// Header is the request's header, Host the host that it was sent to.
	Header http.Header
	Host   string
	// Answer takes the headers that the client is to get with the answer.
	Answer http.Header
}

// ownHeaders are the headers that belong to the one request they came with. The
// list is v1.3's, with those that a connection has for itself.
func ownHeaders() []string {
	return []string{
		"Content-Length", "Content-Md5", "User-Agent", "Host", "Origin", "Referer", "Accept", "Accept-Encoding", "Accept-Language",
		"Accept-Datetime", "Cache-Control", "Connection", "Dnt", "Content-Type",
		"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions",
	}
}

// Forwarded returns the client's headers as another server gets them: without
// those of the connection, and without secrets and session variables of ours.
func (c Client) Forwarded() http.Header {
	h := http.Header{}
	own := ownHeaders()
	for name, values := range c.Header {
		if !domain.IsSessionVariable(name) && !slices.Contains(own, http.CanonicalHeaderKey(name)) {
			h[name] = slices.Clone(values)
		}
	}
	if c.Host != "" {
		h.Set("X-Forwarded-Host", c.Host)
	}
	if agent := c.Header.Get("User-Agent"); agent != "" {
		h.Set("X-Forwarded-User-Agent", agent)
	}
	return h
}

// passedOn are the headers of a server's answer that reach the client.
const passedOn = "Set-Cookie"

// PassOn gives the client what a server's answer says to it.
func (c Client) PassOn(answer http.Header) {
	for _, cookie := range answer.Values(passedOn) {
		if c.Answer != nil && !strings.ContainsAny(cookie, "\r\n") {
			c.Answer.Add(passedOn, cookie)
		}
	}
}
