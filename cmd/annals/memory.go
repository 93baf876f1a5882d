package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// collectAt is how large the heap may always grow before it is collected: with
	// little alive, the runtime's own rule would collect hundreds of times a second.
	collectAt = 128 << 20
	// largestGrowth and leastGrowth bound by how many percent of what is alive the heap grows between collections. The
	// runtime lets a heap grow by that much of 4 MB at least: to 64 MB, which a service that answers may take.
	largestGrowth, leastGrowth = 1600, 100
)

// tuneMemory collects garbage seldom while the heap is small, and as the
// runtime does when it is not. A GOGC that somebody set is left alone. What is
// allocated is not sampled: a library links the profiler, and nobody can ask it.
func tuneMemory() {
	runtime.MemProfileRate = 0
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(largestGrowth)
	afterCollection()
}

// afterCollection sets the growth anew, now and after each collection: a
// finalizer runs then, and asks for the next.
func afterCollection() {
	debug.SetGCPercent(growth(liveHeap()))
	type marker struct{ _ [16]byte }
	runtime.SetFinalizer(&marker{}, func(*marker) { afterCollection() })
}

// growth is by how many percent a heap with so many live bytes may grow.
func growth(live uint64) int {
	if live == 0 {
		return largestGrowth
	}
	return int(min(max(int64(collectAt)*100/int64(live)-100, leastGrowth), largestGrowth))
}

// liveHeap is how many bytes the last collection left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
