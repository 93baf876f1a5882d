package domain_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestATraceIsReadFromTheHeadersThatNameIt(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		want   string
	}{
		"none":                       {nil, ""},
		"several B3 headers":         {map[string]string{"X-B3-TraceId": "00000000000000ff", "X-B3-SpanId": "000000000000000a"}, `{"trace_id":255,"span_id":10}`},
		"a trace of 128 bits":        {map[string]string{"X-B3-TraceId": "463ac35c9f6413ad48485a3953bb6124", "X-B3-SpanId": "a2fb4a1d1a96d312"}, `{"trace_id":5208512171318403364,"span_id":11744061942159299346}`},
		"one B3 header":              {map[string]string{"b3": "00000000000000ff-000000000000000a-1-0000000000000001"}, `{"trace_id":255,"span_id":10}`},
		"B3 that only says no":       {map[string]string{"b3": "0"}, ""},
		"traceparent":                {map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, `{"trace_id":11803532876627986230,"span_id":67667974448284343}`},
		"traceparent of later times": {map[string]string{"traceparent": "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"}, `{"trace_id":11803532876627986230,"span_id":67667974448284343}`},
		"B3 before traceparent": {map[string]string{"X-B3-TraceId": "00000000000000ff", "X-B3-SpanId": "000000000000000a",
			"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, `{"trace_id":255,"span_id":10}`},
		"a version that is none": {map[string]string{"traceparent": "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, ""},
		"zeros":                  {map[string]string{"traceparent": "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, ""},
		"no hexadecimal":         {map[string]string{"X-B3-TraceId": "zz00000000000000ff00000000000000", "X-B3-SpanId": "000000000000000a"}, ""},
		"too short":              {map[string]string{"X-B3-TraceId": "ff", "X-B3-SpanId": "0a"}, ""},
		"no span":                {map[string]string{"X-B3-TraceId": "00000000000000ff"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range c.header {
				header.Set(name, value)
			}
			trace := domain.TraceOf(header.Get)
			require.Equal(t, c.want != "", trace.Known())
			if trace.Known() {
				require.Equal(t, c.want, trace.Setting())
			}
		})
	}
}
