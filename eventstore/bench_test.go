package eventstore_test

import (
	"testing"

	"annals/eventstore"
	"annals/eventstore/storetest"
)

func BenchmarkOneCallerAppends(b *testing.B) {
	store, _ := open(b)
	for b.Loop() {
		if _, err := store.Append(b.Context(), eventstore.Any(), storetest.NewEvent("e")); err != nil {
			b.Fatal(err)
		}
	}
}
