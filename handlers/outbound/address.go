package outbound

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// keptAddresses is how many addresses are remembered as they were read.
const keptAddresses = 1000

// address is a URL of HTTP, as it was read.
type address struct {
	*url.URL
	// plain is whom to connect to for [plain] HTTP; empty where that is not
	// what the URL asks for, or where its host is not written in ASCII.
	plain string
}

// addresses are the URLs that were called. Most calls go where others went, and
// reading a URL takes a good part of what it takes to make a request.
type addresses struct {
	mu    sync.RWMutex
	known map[string]address
}

// find reads a URL, which has to be one of HTTP. Nobody changes it after that.
func (a *addresses) find(text string) (address, error) {
	a.mu.RLock()
	known, ok := a.known[text]
	a.mu.RUnlock()
	if ok {
		return known, nil
	}
	request, err := http.NewRequest(http.MethodPost, text, http.NoBody) // it takes from a host a port that is empty
	if err != nil {
		return address{}, err
	}
	found := address{URL: request.URL}
	if found.Scheme != "http" && found.Scheme != "https" || found.Hostname() == "" {
		return address{}, errNoHTTP
	}
	if found.Scheme == "http" && isPrintable(found.Host) {
		found.plain = net.JoinHostPort(found.Hostname(), cmp.Or(found.Port(), "80"))
	}
	a.keep(text, found)
	return found, nil
}

func (a *addresses) keep(text string, found address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= keptAddresses {
		a.known = map[string]address{}
	}
	a.known[text] = found
}
