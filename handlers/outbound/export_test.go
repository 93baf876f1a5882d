package outbound

import "net/netip"

// RangeOf names the range of an address, as the guard sees it.
func RangeOf(a netip.Addr) string { return rangeOf(a.Unmap()) }
