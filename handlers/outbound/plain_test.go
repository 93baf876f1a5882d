package outbound

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsUnusualGoesByTheTransport(t *testing.T) {
	proxy := &url.URL{Scheme: "http", Host: "proxy.example:3128"}
	for name, one := range map[string]struct {
		url    string
		header http.Header
		length int64
		proxy  *url.URL
		plain  bool
	}{
		"plain HTTP":                {url: "http://hook.example/a", plain: true},
		"a port, and no path":       {url: "http://hook.example:8080", plain: true},
		"an address of version 6":   {url: "http://[::1]:8080/", plain: true},
		"a header":                  {url: "http://hook.example", header: http.Header{"X-A": {"a, \"b\""}}, plain: true},
		"TLS":                       {url: "https://hook.example"},
		"a name that is no ASCII":   {url: "http://höök.example"},
		"a long body":               {url: "http://hook.example", length: plainBody + 1},
		"a proxy":                   {url: "http://hook.example", proxy: proxy},
		"a header that has no name": {url: "http://hook.example", header: http.Header{"X A": {"a"}}},
		"a header of two lines":     {url: "http://hook.example", header: http.Header{"X-A": {"a\nb"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plain{transport: &http.Transport{Proxy: http.ProxyURL(one.proxy)}}
			var known addresses
			to, err := known.find(one.url)
			require.NoError(t, err)
			require.Equal(t, one.plain, p.takes(to, &http.Request{URL: to.URL, Header: one.header, ContentLength: one.length}))
		})
	}
}

// piped is a connection and its other end.
func piped(t *testing.T) (*connection, net.Conn) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	return &connection{Conn: ours}, theirs
}

func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

func TestSoManyConnectionsAreKeptAndTheLastUsedIsTakenFirst(t *testing.T) {
	p := &plain{transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	first, _ := piped(t)
	second, _ := piped(t)
	third, other := piped(t)
	for _, c := range []*connection{first, second, third} {
		p.keep("a", c)
	}
	require.True(t, closed(other))
	require.Nil(t, p.take("b"))
	require.Same(t, second, p.take("a"))
	require.Same(t, first, p.take("a"))
	require.Nil(t, p.take("a"))
	p.drop(time.Now())
}

// passes lets time pass, and everything that is due happen.
func passes(d time.Duration) {
	time.Sleep(d) // in a bubble: no time passes outside
	synctest.Wait()
}

func TestAConnectionThatNobodyUsesIsClosedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plain{transport: &http.Transport{MaxIdleConnsPerHost: 2}}
		old, other := piped(t)
		p.keep("a", old)
		passes(idleTimeout - time.Second)
		used, _ := piped(t)
		p.keep("a", used)
		passes(2 * time.Second)
		require.True(t, closed(other))
		require.Same(t, used, p.take("a"))
		require.Nil(t, p.take("a"))
		passes(idleTimeout)
		require.Nil(t, p.sweep, "there is nothing left to look after")
	})
}
