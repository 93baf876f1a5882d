package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Kind is what kept an answer from coming. Its text is the name that v1.3 has
// for it, which messages and stored attempts show.
type Kind string

// The kinds.
const (
	ConnectionTimeout Kind = "ConnectionTimeout" // no connection in time
	ResponseTimeout   Kind = "ResponseTimeout"   // connected, and no whole answer in time
	ConnectionFailure Kind = "ConnectionFailure" // refused, unreachable, no such name
	TLSFailure        Kind = "TlsException"      // not the one it claims to be, or no TLS at all
	AddressDenied     Kind = "AddressDenied"     // a range that is not called
	InvalidURL        Kind = "InvalidUrlException"
	NoAnswer          Kind = "NoResponseDataReceived" // the other side closed before it answered
	ShortBody         Kind = "ResponseBodyTooShort"   // ... or in the middle of its answer
	InternalFailure   Kind = "InternalException"      // anything else, such as an answer that is not HTTP
	Cancelled         Kind = "Cancelled"              // the caller gave up
)

var errNoHTTP = errors.New("expecting http:// or https:// and a host")

// Error says that a request got no usable answer.
type Error struct {
	Kind Kind
	// URL is set for an invalid one.
	URL string
	Err error
}

// Error gives v1.3's text: a kind that says all stands alone, the others are
// followed by what happened.
func (e *Error) Error() string {
	switch e.Kind {
	case ConnectionTimeout, ResponseTimeout, NoAnswer:
		return string(e.Kind)
	case InvalidURL:
		return fmt.Sprintf("%s %q %q", e.Kind, e.URL, e.Err)
	}
	return fmt.Sprintf("%s %s", e.Kind, e.Err)
}

// Unwrap gives what happened.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether time ran out.
func (e *Error) Timeout() bool { return e.Kind == ConnectionTimeout || e.Kind == ResponseTimeout }

// classify says of which kind a failure is. The caller's own context tells a
// caller who gave up from time that ran out.
func classify(caller context.Context, err error, connected bool) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // its text repeats the URL, which may hold secrets
		err = wrapped.Err
	}
	var denied *Denied
	if errors.As(err, &denied) { // whom was dialled it says itself
		err = denied
	}
	return &Error{Kind: kindOf(caller, err, connected), Err: err}
}

func kindOf(caller context.Context, err error, connected bool) Kind {
	var denied *Denied
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(caller.Err(), context.Canceled):
		return Cancelled
	case errors.As(err, &denied):
		return AddressDenied
	case isTimeout(err) && connected:
		return ResponseTimeout
	case isTimeout(err):
		return ConnectionTimeout
	case isTLS(err):
		return TLSFailure
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return ConnectionFailure
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ShortBody
	case errors.Is(err, io.EOF), errors.As(err, &op):
		return NoAnswer
	}
	return InternalFailure
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &hostname)
}
