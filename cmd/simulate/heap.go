package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Many runs on a small cluster leave much garbage and keep little, so that the garbage collector's default would collect a small heap all
// the time. A heap that no longer grows may have up to mostGrowth percent of garbage, as long as the whole heap stays below roomyHeap. A
// heap that still grows may do so below fillingHeap. A larger heap has as much garbage as live objects, as by default. A memory limit would
// not do: once live objects come near it, the collector never rests.
const (
	roomyHeap     = 640 << 20
	fillingHeap   = 256 << 20
	mostGrowth    = 400
	defaultGrowth = 100
)

// growthPercent returns the percentage by which the heap may grow. before and live are the bytes of live objects after the last two collections.
func growthPercent(before, live uint64) uint64 {
	most := uint64(roomyHeap)
	if live > before+before/8 {
		most = fillingHeap
	}
	return min(max(100*most/max(live, 1), 100+defaultGrowth)-100, mostGrowth)
}

// tuneCollector lets a small heap grow more than by default, unless GOGC or GOMEMLIMIT is set.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		(&collection{growth: defaultGrowth, read: []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}}}).await()
	}
}

// collection is an unreachable object with a finalizer. The finalizer runs after each collection, and makes the object unreachable again.
type collection struct {
	growth, live uint64
	read         []metrics.Sample
}

func (c *collection) await() { runtime.SetFinalizer(c, (*collection).ended) }

func (c *collection) ended() {
	metrics.Read(c.read)
	live := c.read[1].Value.Uint64()
	if c.read[0].Value.Uint64() == c.growth { // otherwise a command has set another percentage for a while
		if next := growthPercent(c.live, live); next != c.growth {
			debug.SetGCPercent(int(next))
			c.growth = next
		}
	}
	c.live = live
	c.await()
}
