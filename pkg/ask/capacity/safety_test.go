package capacity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
)

// Whether everything comes back now, and what is lacking where it does not.
func TestSafe(t *testing.T) {
	zoned := strings.Replace(apart, "kubernetes.io/hostname", zone, 1)
	for _, test := range []struct {
		name     string
		replicas int
		cpu      string
		more     string
		want     string
	}{
		// 8 pods of 1 core on three nodes of 4, one in each zone: any two hold 8.
		{"safe", 8, "1", "", "safe"},
		// 10 pods: 4, 3 and 3, and any two nodes hold 8. Without a the others lack 2 places, which one more node in b has. It does for the
		// loss of c, too, but not for that of b: a and c then hold 8, and lack 2 of 10.
		{"a node in two zones", 10, "1", "", "2 without a, 2 without b, 2 without c; 1 node in b, 1 node in a"},
		// The 13th pod was Pending before, and stays so. Each zone has 4 pods, for which the other two, which are full, have no place. One
		// more node in b takes the 13th and 3 of the 4 that the loss of a takes, so that two are lacking; these serve the loss of c, for
		// which a, b and b have place for 16. Without b, 12 of 13 pods would have to be on a and c, which hold 8: two more are lacking.
		{"one was Pending before", 13, "1", "", "4 without a, 4 without b, 4 without c; 2 nodes in b, 2 nodes in a"},
		// One pod in each of three zones, and no second: no node in another zone helps.
		{"no node helps", 3, "1", zoned, "1 without a for good, 1 without b for good, 1 without c for good"},
	} {
		safe, err := capacity.Safe(t.Context(), run(t, three, deployment("web", test.replicas, test.cpu, "1Gi", test.more)), capacity.Options{Survive: []string{zone}, Mode: node.Unreachable})
		if err != nil {
			t.Fatal(err)
		}
		got := "safe"
		if len(safe[0].Unsafe) > 0 {
			var failures, lacks []string
			for _, u := range safe[0].Unsafe {
				line := fmt.Sprintf("%d without %s", u.Pods, u.Domain)
				if u.Still > 0 {
					line += " for good"
				}
				failures = append(failures, line)
			}
			for _, l := range safe[0].Lacks {
				lacks = append(lacks, strings.TrimSuffix(fmt.Sprintf("%d nodes", l.Nodes), strings.Repeat("s", max(0, 2-l.Nodes)))+" in "+l.Zone)
			}
			got = strings.Join(failures, ", ")
			if len(lacks) > 0 {
				got += "; " + strings.Join(lacks, ", ")
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A lost zone takes the nodes that would be added to it with it; a lost node does not take one more of its kind. Four pods of 1 core fill the
// only node, and one more like it takes them all.
func TestSafeWithAnotherNodeOfTheLostOnesKind(t *testing.T) {
	const one = `{"nodeGroups": [{"count": 1, "cpu": 4, "memory": "16Gi", "pods": 10}]}`
	safe, err := capacity.Safe(t.Context(), run(t, one, deployment("web", 4, "1", "1Gi", "")), capacity.Options{Survive: []string{v1.LabelHostname}, Mode: node.Unreachable})
	if err != nil {
		t.Fatal(err)
	}
	if len(safe[0].Unsafe) != 1 || safe[0].Unsafe[0].Pods != 4 || safe[0].Unsafe[0].Still != 0 {
		t.Errorf("unsafe: %+v, want 4 pods, and none for good", safe[0].Unsafe)
	}
	if len(safe[0].Lacks) != 1 || safe[0].Lacks[0].Nodes != 1 {
		t.Errorf("lacks %+v, want 1 node", safe[0].Lacks)
	}
}
