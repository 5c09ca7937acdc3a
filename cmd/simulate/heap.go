package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Many runs on a small cluster leave much garbage and keep little of it, so that the default would collect a small heap all the time. One
// that no longer grows may have mostGrowth percent of garbage before it is collected, as long as all is below roomyHeap, and one that is
// still being filled, as long as all is below fillingHeap. A larger one has as much garbage as it has objects, as by default. (With a memory
// limit, which knows no such floor, the collector would never rest once what is alive comes near it.)
const (
	roomyHeap     = 640 << 20
	fillingHeap   = 256 << 20
	mostGrowth    = 400
	defaultGrowth = 100
)

// growth returns the percentage by which a heap may grow of which so many bytes are alive, and were after the collection before.
func growth(before, live uint64) uint64 {
	most := uint64(roomyHeap)
	if live > before+before/8 {
		most = fillingHeap
	}
	return min(max(100*most/max(live, 1), 100+defaultGrowth)-100, mostGrowth)
}

// growFreely lets a small heap grow more freely, unless the environment says how the collector is to work.
func growFreely() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		(&collection{growth: defaultGrowth, read: []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}}}).await()
	}
}

// collection is garbage with a finalizer, which runs after the next collection and makes it garbage once more.
type collection struct {
	growth, live uint64
	read         []metrics.Sample
}

func (c *collection) await() { runtime.SetFinalizer(c, (*collection).ended) }

func (c *collection) ended() {
	metrics.Read(c.read)
	live := c.read[1].Value.Uint64()
	if c.read[0].Value.Uint64() == c.growth { // else a command has set another percentage for a while
		if next := growth(c.live, live); next != c.growth {
			debug.SetGCPercent(int(next))
			c.growth = next
		}
	}
	c.live = live
	c.await()
}
