package outbound

import (
	"net"
	"net/netip"
)

// RangeOf names the range of an address, as the guard sees it.
func RangeOf(a netip.Addr) string { return rangeOf(a.Unmap()) }

// NewAsking makes a client that has names looked up by a resolver.
func NewAsking(r *net.Resolver, c Config) *Client {
	made := New(c)
	dialer := newGuard(c.Deny).dialer()
	dialer.Resolver = r
	made.transport.DialContext = dialer.DialContext
	return made
}

// UsesProxies reports whether requests go by the proxies that the environment names.
func (c *Client) UsesProxies() bool { return c.transport.Proxy != nil }
