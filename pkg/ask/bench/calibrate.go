package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// calibrate collects the garbage, does about 10 ms of fixed work, and returns the CPU time of this work. Baselines contain these times, so
// a change of the work makes every earlier baseline worthless.
//
// If the machine is temporarily slower, because of its clock or because other work fills its caches, this work should slow down as much as
// the scheduler's. So calibrate does what the scheduler's plugins do with nodes: it looks up labels in maps, counts pods by topology in a
// map, and allocates and sorts a list of scores.
func calibrate() time.Duration {
	nodes := calibrationNodes()
	runtime.GC()                                     // no collection may be running during the work,
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or begin in it: its cost would depend on the scenario in memory
	began := cpuTime()
	for pod := range 40 {
		runtime.KeepAlive(placeOnEmptiestRack(nodes, pod)) // keep the compiler from removing the work
	}
	return cpuTime() - began
}

type calibrationNode struct {
	name   string
	labels map[string]string
	pods   []map[string]string
}

// calibrationNodes makes the nodes once, when the first calibration asks for them: making them takes a tenth of the start of the program.
var calibrationNodes = sync.OnceValue(func() []*calibrationNode {
	nodes := make([]*calibrationNode, 1000)
	for i := range nodes {
		node := &calibrationNode{name: fmt.Sprintf("node-%d", i)}
		node.labels = map[string]string{"hostname": node.name, "zone": fmt.Sprintf("zone-%d", i%9), "rack": fmt.Sprintf("rack-%d", i%72)}
		for p := range 4 {
			node.pods = append(node.pods, map[string]string{"app": fmt.Sprintf("app-%d", (i+p)%10), "color": "green"})
		}
		nodes[i] = node
	}
	return nodes
})

// placeOnEmptiestRack finds the node whose rack has the fewest pods with the pod's app.
func placeOnEmptiestRack(nodes []*calibrationNode, pod int) int {
	type topology struct{ key, value string }
	type score struct {
		node  *calibrationNode
		total int
	}
	app := fmt.Sprintf("app-%d", pod%10)
	counts := map[topology]int{}
	for _, node := range nodes {
		for _, labels := range node.pods {
			if labels["app"] == app {
				for _, key := range []string{"hostname", "zone", "rack"} {
					counts[topology{key, node.labels[key]}]++
				}
			}
		}
	}
	var scores []*score
	for _, node := range nodes {
		scores = append(scores, &score{node, counts[topology{"zone", node.labels["zone"]}] + 10*counts[topology{"rack", node.labels["rack"]}]})
	}
	slices.SortFunc(scores, func(a, b *score) int {
		return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.node.name, b.node.name))
	})
	return scores[0].total
}
