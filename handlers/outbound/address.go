package outbound

import (
	"net/http"
	"net/url"
	"sync"
)

// keptAddresses is how many addresses are remembered as they were read.
const keptAddresses = 1000

// addresses are the URLs that were called. Most calls go where others went, and
// reading a URL takes a good part of what it takes to make a request.
type addresses struct {
	mu    sync.RWMutex
	known map[string]*url.URL
}

// find reads a URL, which has to be one of HTTP. Nobody changes it after that.
func (a *addresses) find(text string) (*url.URL, error) {
	a.mu.RLock()
	known := a.known[text]
	a.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	request, err := http.NewRequest(http.MethodPost, text, http.NoBody) // it takes from a host a port that is empty
	if err != nil {
		return nil, err
	}
	u := request.URL
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errNoHTTP
	}
	a.keep(text, u)
	return u, nil
}

func (a *addresses) keep(text string, u *url.URL) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= keptAddresses {
		a.known = map[string]*url.URL{}
	}
	a.known[text] = u
}
