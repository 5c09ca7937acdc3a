package capacity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
)

// Whether every pod comes back now, and how many do not.
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
		// 10 pods: 4, 3 and 3, and any two nodes hold 8.
		{"two too many", 10, "1", "", "2 without a, 2 without b, 2 without c"},
		// The 13th pod was Pending before, and stays so. Each zone has 4 pods, for which the other two, which are full, have no place.
		{"one was Pending before", 13, "1", "", "4 without a, 4 without b, 4 without c"},
		// One pod in each of three zones, and no second.
		{"one in each zone", 3, "1", zoned, "1 without a, 1 without b, 1 without c"},
	} {
		safe, err := capacity.CheckSafety(t.Context(), run(t, three, deployment("web", test.replicas, test.cpu, "1Gi", test.more)), capacity.Options{Survive: []string{zone}, Mode: node.Unreachable})
		if err != nil {
			t.Fatal(err)
		}
		got := "safe"
		if len(safe[0].Unsafe) > 0 {
			got = strings.Join(list.Map(safe[0].Unsafe, func(u capacity.Unsafe) string { return fmt.Sprintf("%d without %s", u.Pods, u.Domain) }), ", ")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
