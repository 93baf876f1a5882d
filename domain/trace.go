package domain

import (
	"fmt"
	"strconv"
	"strings"
)

// Trace is a place in a trace, in v1.3's 64 bits. The zero value is none.
type Trace struct{ ID, Span uint64 }

// The settings, local to a transaction that changes rows, in which triggers
// find the trace that it belongs to: ours, and the one that triggers written
// for v1.3 read.
const (
	TraceSetting      = "annals.trace"
	TraceSettingAlias = "hasura.tracecontext"
)

// Known reports whether there is one.
func (t Trace) Known() bool { return t.ID != 0 && t.Span != 0 }

// Setting is what the two settings are.
func (t Trace) Setting() string {
	return fmt.Sprintf(`{"trace_id":%d,"span_id":%d}`, t.ID, t.Span)
}

// TraceOf reads the place in a trace that a request names in its headers: in
// B3's several or its one, else in traceparent (https://www.w3.org/TR/trace-context/).
// Of a trace's id of 128 bits the last 64 count, as they do in B3. What has
// another form names none.
func TraceOf(header func(name string) string) Trace {
	if id := header("X-B3-TraceId"); id != "" {
		return traceOf(id, header("X-B3-SpanId"))
	}
	if parts := strings.Split(header("B3"), "-"); len(parts) >= 2 {
		return traceOf(parts[0], parts[1])
	}
	if parts := strings.Split(header("Traceparent"), "-"); len(parts) >= 4 && len(parts[0]) == 2 && parts[0] != "ff" {
		return traceOf(parts[1], parts[2])
	}
	return Trace{}
}

func traceOf(id, span string) Trace {
	if len(id) != 32 && len(id) != 16 || len(span) != 16 {
		return Trace{}
	}
	head, bad := strconv.ParseUint(id[:16], 16, 64)
	tail, worse := strconv.ParseUint(id[len(id)-16:], 16, 64)
	place, worst := strconv.ParseUint(span, 16, 64)
	if bad != nil || worse != nil || worst != nil || head|tail == 0 {
		return Trace{}
	}
	return Trace{tail, place}
}
