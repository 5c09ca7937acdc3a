package capacity_test

import (
	"fmt"
	"testing"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
)

// BenchmarkCapacity asks how many more pods of 1,500m fit on empty nodes of 16 cores, ten per node, and how many if any of four zones may
// fail.
func BenchmarkCapacity(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		for name, levels := range map[string][]string{"Fit": nil, "SurviveZone": {zone}} {
			b.Run(fmt.Sprintf("%s/%dNodes", name, nodes), func(b *testing.B) {
				world := fmt.Sprintf(`{"zones": [{"count": 4}], "nodeGroups": [{"count": %d, "cpu": 16, "memory": "64Gi"}]}`, nodes/4)
				result := run(b, world, deployment("web", 1, "1500m", "1Gi", ""))
				mixes, err := capacity.Mixes(result.State(), nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := capacity.Find(b.Context(), result, mixes, capacity.Options{Survive: levels, Mode: node.Unreachable, UpTo: capacity.NoLimit}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
