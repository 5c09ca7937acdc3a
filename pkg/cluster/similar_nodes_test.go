package cluster_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// 15,013,440 and 15,013,468 KiB are memories of one type of machine. 1.5 % of 1,000 MiB are 15 MiB.
func TestSimilarSize(t *testing.T) {
	sizes := func(list ...string) v1.ResourceList {
		all := v1.ResourceList{}
		for i := 0; i < len(list); i += 2 {
			all[v1.ResourceName(list[i])] = resource.MustParse(list[i+1])
		}
		return all
	}
	for name, test := range map[string]struct {
		capacity, allocatable [2]v1.ResourceList
		want                  bool
	}{
		"some KiB":               {capacity: [2]v1.ResourceList{sizes("cpu", "4", "memory", "15013440Ki"), sizes("cpu", "4", "memory", "15013468Ki")}, want: true},
		"as far as tolerated":    {capacity: [2]v1.ResourceList{sizes("memory", "985Mi"), sizes("memory", "1000Mi")}, want: true},
		"further":                {capacity: [2]v1.ResourceList{sizes("memory", "1000Mi"), sizes("memory", "984Mi")}},
		"another number of CPUs": {capacity: [2]v1.ResourceList{sizes("cpu", "100"), sizes("cpu", "101")}},
		"more reserved":          {allocatable: [2]v1.ResourceList{sizes("cpu", "3900m"), sizes("cpu", "3800m")}, want: true},
		"much more reserved":     {allocatable: [2]v1.ResourceList{sizes("cpu", "4"), sizes("cpu", "3700m")}},
		"a device":               {allocatable: [2]v1.ResourceList{sizes("cpu", "4"), sizes("cpu", "4", "gpu", "1")}},
		"another device":         {allocatable: [2]v1.ResourceList{sizes("nic", "1"), sizes("gpu", "1")}},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes [2]v1.Node
			for i := range nodes {
				nodes[i].Status.Capacity, nodes[i].Status.Allocatable = test.capacity[i], test.allocatable[i]
			}
			if got, back := cluster.SimilarSize(&nodes[0], &nodes[1]), cluster.SimilarSize(&nodes[1], &nodes[0]); got != test.want || back != test.want {
				t.Errorf("%t, and %t the other way round, want %t", got, back, test.want)
			}
		})
	}
}
