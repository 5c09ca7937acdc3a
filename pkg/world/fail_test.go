package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// A world remembers the deleted nodes until Reset. Resuming a mark brings them back.
func TestLostNodesAreForgotten(t *testing.T) {
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCluster(config, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := &cluster.State{Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}}
	for mode, want := range map[node.FailureMode]int{node.Unreachable: 0, node.Deleted: 1} {
		c.Reset()
		if _, err := c.Fail(state, mode, "a"); err != nil {
			t.Fatal(err)
		}
		if len(c.removed.Nodes) != want {
			t.Errorf("%s: %d nodes are lost, want %d", mode, len(c.removed.Nodes), want)
		}
		mark := c.Mark()
		if c.Reset(); len(c.removed.Nodes) != 0 {
			t.Errorf("%s: after a reset %d nodes are lost", mode, len(c.removed.Nodes))
		}
		if err := c.Resume(mark); err != nil || len(c.removed.Nodes) != want {
			t.Errorf("%s: at the mark %d nodes are lost, want %d: %v", mode, len(c.removed.Nodes), want, err)
		}
	}
}
