package controlplane

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
)

// What a saved cluster knows of workloads and namespaces, and of owners that the input lacked, is in a fixed order.
func TestSavesInOrder(t *testing.T) {
	p := &Plane{store: memory.NewStore(), time: newTimeline(time.Now, 1), absent: map[types.UID]bool{}, state: &cluster.State{Mutations: &cluster.Mutations{
		Workloads: map[cluster.Ref]*cluster.Mutation{}, Namespaces: map[string]*cluster.Mutation{},
	}}}
	for i := range 20 {
		name := fmt.Sprintf("%02d", i)
		p.absent[types.UID(name)] = true
		p.state.Mutations.Workloads[cluster.Ref{Kind: "Deployment", Namespace: "default", Name: name}] = nil
		p.state.Mutations.Namespaces[name] = nil
	}
	saved, err := p.save()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, one := range saved.Mutations {
		name := one.Namespace
		if one.Owner != nil {
			name = one.Owner.Name
		}
		order = append(order, name)
	}
	if len(order) != 40 || !slices.IsSorted(order[:20]) || !slices.IsSorted(order[20:]) || !slices.IsSorted(saved.Absent) {
		t.Errorf("%q, %q", order, saved.Absent)
	}
}
