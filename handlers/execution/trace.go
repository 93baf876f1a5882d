package execution

import (
	"fmt"
	"math/rand/v2"
	"net/http"

	"annals/domain"
)

// continueTrace names the span of a request to another server in B3's headers:
// in the trace that the client's request names, else in one of its own.
func continueTrace(h http.Header, t domain.Trace) {
	h.Set("X-B3-SpanId", hexadecimal(rand.Uint64()))
	if t.Known() {
		h.Set("X-B3-TraceId", hexadecimal(t.ID))
		h.Set("X-B3-ParentSpanId", hexadecimal(t.Span))
		return
	}
	h.Set("X-B3-TraceId", hexadecimal(rand.Uint64()))
	h.Del("X-B3-ParentSpanId")
}

func hexadecimal(n uint64) string { return fmt.Sprintf("%016x", n) }
