package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelled(name string, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// If a node has the labels of EKS and of eksctl, the first counts. A control plane node is in no group, whatever its labels.
func TestGrouped(t *testing.T) {
	const eks, karpenter = "eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool"
	control := labelled("c", map[string]string{eks: "masters"})
	control.Spec.Taints = []v1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}}
	nodes := []*v1.Node{
		control, labelled("a", map[string]string{eks: "general", "alpha.eksctl.io/nodegroup-name": "other"}), labelled("b", map[string]string{eks: "general", "pool": "x"}),
		labelled("d", map[string]string{karpenter: "spot", "pool": "y"}), labelled("e", nil),
	}
	for name, tt := range map[string]struct {
		given   Autoscaler
		groups  []AutoscaledGroup
		note    string
		problem string
	}{
		"as clouds name them": {
			groups: []AutoscaledGroup{{Name: "general", Max: 1000, From: eks + "=general"}, {Name: "spot", Max: 1000, From: karpenter + "=spot"}},
			note: "The node groups are those that eks.amazonaws.com/nodegroup and karpenter.sh/nodepool name: general (2 nodes) and spot (1 node); 2 nodes are in none. " +
				"No maximum of general and spot is known, so 1000 nodes are assumed; --node-group NAME=MIN:MAX gives one.",
		},
		"by another label, with limits": {
			given:  Autoscaler{GroupsBy: "pool", NodeGroups: []AutoscaledGroup{{Name: "y", Min: 1, Max: 5, Price: 0.12}, {Name: "x", Max: 9}}},
			groups: []AutoscaledGroup{{Name: "x", Max: 9, From: "pool=x"}, {Name: "y", Min: 1, Max: 5, From: "pool=y", Price: 0.12}},
			note:   "The node groups are those that pool names: x (1 node) and y (1 node); 3 nodes are in none.",
		},
		"limits of a group that is not there": {
			given:   Autoscaler{NodeGroups: []AutoscaledGroup{{Name: "genral", Max: 5}}},
			problem: `no node has the value "genral" of eks.amazonaws.com/nodegroup or karpenter.sh/nodepool; there are general, spot`,
		},
		"a label that no node has": {
			given:   Autoscaler{GroupsBy: "group"},
			problem: `no node has a label "group"; there are alpha.eksctl.io/nodegroup-name, eks.amazonaws.com/nodegroup, karpenter.sh/nodepool, pool`,
		},
		"written out": {
			given:  Autoscaler{NodeGroups: []AutoscaledGroup{{Name: "general", Max: 5, From: "pool=x"}}},
			groups: []AutoscaledGroup{{Name: "general", Max: 5, From: "pool=x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, note, err := tt.given.WithLabelGroups(nodes, nil)
			if tt.problem != "" {
				if err == nil || err.Error() != tt.problem {
					t.Fatalf("got  %v\nwant %s", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.groups, got.NodeGroups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.note, note); diff != "" {
				t.Errorf("note (-want +got):\n%s", diff)
			}
		})
	}
}

// A label that names groups comes before others, and a value of several other labels is not clear.
func TestGroupNamed(t *testing.T) {
	const eks = "eks.amazonaws.com/nodegroup"
	nodes := []*v1.Node{
		labelled("a", map[string]string{eks: "general", "role": "general", "tier": "web", "size": "large", "beta.kubernetes.io/size": "large"}),
		labelled("b", map[string]string{eks: "spot", "role": "web"}),
	}
	for name, want := range map[string]string{
		"general": eks + "=general",
		"spot":    eks + "=spot",
		"large":   "size=large",
		"web":     `"web" is a value of several labels; give one of role=web or tier=web`,
		"gneral":  `no node group is called "gneral"; there are general, spot`,
	} {
		got, err := FindGroup(nodes, name)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	const want = `no node has a label with the value "x"; give a label of the nodes as KEY=VALUE, such as pool=general`
	if _, err := FindGroup([]*v1.Node{labelled("c", nil)}, "x"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
