package plan

import (
	"annals/domain"
	"annals/domain/wire"
)

// place is a place in the request, as paths of errors have it. The first
// fault that is reported at any place stays; all that is built after it is
// thrown away.
type place struct {
	path  wire.Path
	fault **domain.Error
}

// newPlace is the whole request, without fault.
func newPlace() place { return place{"$", new(*domain.Error)} }

func (p place) key(name string) place { return place{p.path.Key(name), p.fault} }

func (p place) index(i int) place { return place{p.path.Index(i), p.fault} }

// failed reports whether there was a fault, here or anywhere.
func (p place) failed() bool { return *p.fault != nil }

// fail reports what is wrong with the operation.
func (p place) fail(format string, args ...any) {
	p.failCode(domain.ValidationFailed, format, args...)
}

func (p place) failCode(code domain.Code, format string, args ...any) {
	if *p.fault == nil {
		*p.fault = domain.RefuseAt(string(p.path), code, format, args...)
	}
}

// mismatch reports a value of the wrong kind.
func (p place) mismatch(typeName, expected string, v value) {
	p.fail("expected %s for type %q, but found %s", expected, typeName, v.kind.described())
}
