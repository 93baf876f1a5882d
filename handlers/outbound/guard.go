package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// Names of ranges of addresses.
const (
	Loopback  = "loopback"   // this machine
	LinkLocal = "link-local" // the wire it is on; a cloud's metadata service
	Private   = "private"    // networks that are not routed in the internet
)

// Ranges are the names that [Config.Deny] may hold.
func Ranges() []string { return []string{Loopback, LinkLocal, Private} }

// guard knows which addresses are not dialled.
type guard struct{ denied []string }

func newGuard(denied []string) guard {
	for _, name := range denied {
		if !slices.Contains(Ranges(), name) {
			panic(fmt.Sprintf("outbound: %q is no range of addresses", name))
		}
	}
	return guard{denied: denied}
}

func (g guard) dialer() *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive, ControlContext: g.check}
}

// check is called with the address that is about to be connected to, after
// the name was resolved.
func (g guard) check(_ context.Context, _, address string, _ syscall.RawConn) error {
	if len(g.denied) == 0 {
		return nil
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("judge the address %q: %w", address, err)
	}
	if name, denied := g.denies(ap.Addr()); denied {
		return &Denied{Address: ap.Addr(), Range: name}
	}
	return nil
}

func (g guard) denies(address netip.Addr) (string, bool) {
	name := rangeOf(address.Unmap())
	return name, slices.Contains(g.denied, name)
}

// sharedSpace is what carriers use behind their own address translation (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// Addresses that hold another, of IPv4, to which they are translated or
// tunnelled: in their last four bytes (RFC 6052 and, for local use, RFC 8215),
// after the first two (6to4, RFC 3056), or in the last four upside down (Teredo,
// RFC 4380).
var (
	translated     = netip.MustParsePrefix("64:ff9b::/96")
	translatedHere = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour      = netip.MustParsePrefix("2002::/16")
	teredo         = netip.MustParsePrefix("2001::/32")
)

// held is the IPv4 address that another holds.
func held(a netip.Addr) (netip.Addr, bool) {
	bytes := a.As16()
	switch {
	case translated.Contains(a), translatedHere.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	case teredo.Contains(a):
		return netip.AddrFrom4([4]byte{^bytes[12], ^bytes[13], ^bytes[14], ^bytes[15]}), true
	}
	return netip.Addr{}, false
}

// rangeOf names the range that an address belongs to; empty for all others.
// The unspecified address reaches this machine.
func rangeOf(a netip.Addr) string {
	if inner, ok := held(a); ok {
		return rangeOf(inner)
	}
	switch {
	case a.IsLoopback(), a.IsUnspecified():
		return Loopback
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast():
		return LinkLocal
	case a.IsPrivate(), sharedSpace.Contains(a):
		return Private
	}
	return ""
}

// Denied is the refusal to call an address.
type Denied struct {
	Address netip.Addr
	Range   string
}

func (d *Denied) Error() string {
	return fmt.Sprintf("%s is a %s address, and those are not called", d.Address, d.Range)
}
