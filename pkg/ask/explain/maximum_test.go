package explain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each node takes two pods of 2 CPU, so that six pods need three nodes: the autoscaler adds one, up to its limit of two.
func TestFixMaxima(t *testing.T) {
	const cluster = "cluster:\n- synthetic: {nodeGroups: [{name: w, count: 1, cpu: 4, memory: 8Gi, labels: {pool: w}}]}\n"
	for name, c := range map[string]struct {
		autoscaler string
		want       []string
	}{
		"the maximum of the group":           {"{nodeGroups: [{name: w, min: 1, max: 2, from: pool=w}]}", []string{"let group w have up to 3 nodes (now 2): 0 (0)"}},
		"the number of all nodes":            {"{nodeGroups: [{name: w, min: 1, max: 9, from: pool=w}], flags: {max-nodes-total: '2'}}", []string{"let the cluster have up to 3 nodes: --max-nodes-total of the autoscaler (now 2): 0 (0)"}},
		"both, of which neither alone helps": {"{nodeGroups: [{name: w, min: 1, max: 2, from: pool=w}], flags: {max-nodes-total: '2'}}", nil},
		"a limit that is not reached":        {"{nodeGroups: [{name: w, min: 1, max: 9, from: pool=w}]}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := simulated(t, "autoscaler: "+c.autoscaler+"\n"+cluster+"workloads:\n- objects:\n"+workload("Deployment", 6, "cpu: 2", ""))
			fixes, err := FixMaxima(t.Context(), result, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, fix := range fixes {
				got = append(got, fmt.Sprintf("%s: %d (%d)", fix.Change, fix.Pending, fix.OfWorkload))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
