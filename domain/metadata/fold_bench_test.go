package metadata

import (
	"fmt"
	"testing"
)

// BenchmarkFold measures what one event costs a replay, reading aside: an event
// of about 300 bytes that changes one of 10,000 objects.
func BenchmarkFold(b *testing.B) {
	events := make([][]byte, 10_000)
	for i := range events {
		n := i * 7919 % 10_000
		events[i] = fmt.Appendf(nil, `[{"type":"query_collection_changed","kind":"query_collection","key":"collection-%[1]d",`+
			`"definition":{"name":"collection-%[1]d","definition":{"queries":[{"name":"q","query":"query q { author(where: {id: {_eq: %[1]d}}, limit: 10) { id name articles { id title } } } # %032[1]x"}]}}}]`, n)
	}
	b.ReportAllocs()
	fold := FoldFrom(Catalog{})
	for i := 0; b.Loop(); i++ {
		if err := fold.Event(int64(i), SchemaVersion, events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
	}
}
