package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// CORS says from which origins a page may call. The zero value allows all.
type CORS struct {
	disabled bool
	origins  []origin // nil: every origin
}

// origin is a scheme and a host with its port. A wildcard stands for exactly
// one label before the host.
type origin struct {
	wildcard bool
	scheme   string
	host     string
}

// NoCORS has no header of the mechanism sent: browsers then refuse pages of
// all other origins.
func NoCORS() CORS { return CORS{disabled: true} }

// ParseCORS reads a comma-separated list of origins such as
//
//	https://app.example.com, http://localhost:3000, https://*.example.com
//
// or "*" alone, which is every origin.
func ParseCORS(list string) (CORS, error) {
	if strings.TrimSpace(list) == "*" {
		return CORS{}, nil
	}
	c := CORS{origins: []origin{}}
	for item := range strings.SplitSeq(list, ",") {
		o, ok := parseOrigin(strings.TrimSpace(item))
		if host := strings.TrimPrefix(o.host, "*."); !ok || strings.Contains(host, "*") {
			return CORS{}, fmt.Errorf("invalid domain: %q: expected scheme://host[:port], where * can only be the whole first label", item)
		}
		if host, ok := strings.CutPrefix(o.host, "*."); ok {
			o.wildcard, o.host = true, host
		}
		c.origins = append(c.origins, o)
	}
	return c, nil
}

// parseOrigin takes an origin apart. The default port of a scheme is left out,
// as browsers do.
func parseOrigin(s string) (o origin, ok bool) {
	u, err := url.Parse(strings.ToLower(s))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return origin{}, false
	}
	host := u.Host
	switch {
	case u.Scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case u.Scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return origin{scheme: u.Scheme, host: host}, true
}

// allows reports whether a page of this origin may call.
func (c CORS) allows(sent string) bool {
	if c.disabled || sent == "" {
		return false
	}
	if c.origins == nil {
		return true
	}
	asked, ok := parseOrigin(sent)
	if !ok {
		return false
	}
	for _, known := range c.origins {
		if known.matches(asked) {
			return true
		}
	}
	return false
}

// names reports whether the settings name a page's origin: one that all share
// with the rest of the world is not named.
func (c CORS) names(sent string) bool { return c.origins != nil && c.allows(sent) }

func (o origin) matches(asked origin) bool {
	if o.scheme != asked.scheme {
		return false
	}
	if !o.wildcard {
		return o.host == asked.host
	}
	label, rest, ok := strings.Cut(asked.host, ".")
	return ok && label != "" && rest == o.host
}

// cors adds the headers that let pages of allowed origins see the answer, and
// answers their preflights. Other origins are served without them, so that it
// is the browser that refuses.
func (a *API) cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.cfg.CORS.disabled {
			w.Header().Add("Vary", "Origin")
		}
		sent := r.Header.Get("Origin")
		if !a.cfg.CORS.allows(sent) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", sent)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Allow-Methods", "GET,POST,PUT,PATCH,DELETE,OPTIONS")
		if r.Method == http.MethodOptions {
			preflight(w, r)
			return
		}
		h.Set("Access-Control-Expose-Headers", requestIDHeader+","+resourceVersionHeader)
		next.ServeHTTP(w, r)
	})
}

// credentials are the headers that tell who asks. A browser sends cookies
// wherever a page leads it. Where one is a credential, it counts only for pages
// of this service's own host, and of origins that the settings name.
func (a *API) credentials(r *http.Request) http.Header {
	sent := r.Header.Get("Origin")
	if !a.cfg.GuardCookies || sent == "" || a.cfg.CORS.names(sent) || isOwn(sent, r) {
		return r.Header
	}
	h := r.Header.Clone()
	h.Del("Cookie")
	return h
}

func isOwn(sent string, r *http.Request) bool {
	page, ok := parseOrigin(sent)
	self, _ := parseOrigin(page.scheme + "://" + r.Host)
	return ok && page == self
}

// preflight answers a browser that asks before it sends the real request.
func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Max-Age", "1728000")
	if asked := r.Header.Values("Access-Control-Request-Headers"); len(asked) > 0 {
		h.Set("Access-Control-Allow-Headers", strings.Join(asked, ","))
	}
	h.Set("Content-Type", "text/plain charset=UTF-8")
	w.WriteHeader(http.StatusNoContent)
}
