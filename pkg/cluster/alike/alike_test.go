package alike_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster/alike"
)

const rack = "rack"

func node(name, value string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{rack: value}}}
}

// Two nodes look the same until an object mentions the name or the rack of one, or compares racks that are numbers.
func TestNodesLookTheSameUntilOneIsMentioned(t *testing.T) {
	for json, want := range map[string][2]bool{ // of racks a and b, and of racks 1 and 2
		`{"nodeName":"other"}`:             {true, true},
		`{"description":"n1, a or 1"}`:     {true, true},
		`{"values":["n1"]}`:                {false, false},
		`n1`:                               {false, false},
		`{"values":["a"]}`:                 {false, true},
		`{"nodeSelector":{"rack":"1"}}`:    {true, false},
		`{"operator":"Gt","values":["0"]}`: {true, false},
		`{"operator":"Lt","values":["3"]}`: {true, false},
	} {
		for i, racks := range [][2]string{{"a", "b"}, {"1", "2"}} {
			one, other := node("n1", racks[0]), node("n2", racks[1])
			names := alike.NewNodeNames([]*v1.Node{one, other}, rack)
			names.Mention(json)
			if got := names.Look(one) == names.Look(other); got != want[i] {
				t.Errorf("%s: nodes of racks %v look the same: %t, want %t", json, racks, got, want[i])
			}
		}
	}
}

// Pods of one owner are in one class, regardless of their names and nodes, unless their labels or requests differ. Each pod without an
// owner has its own class.
func TestClasses(t *testing.T) {
	var classes alike.PodClasses
	pod := func(name string, owned bool, labels map[string]string, image string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: v1.PodSpec{NodeName: "on " + name, Containers: []v1.Container{{Image: image}}}}
		if owned {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "set", Controller: new(true)}}
		}
		return p
	}
	var got []string
	for i, p := range []*v1.Pod{
		pod("a", true, nil, "i"), pod("b", true, nil, "i"), pod("c", true, map[string]string{"role": "leader"}, "i"), pod("d", true, nil, "other"),
		pod("e", false, nil, "i"), pod("f", false, nil, "i"),
	} {
		if i == 2 {
			classes.Release()
		}
		got = append(got, classes.Class(p))
	}
	if want := "[class 0 class 0 class 1 class 2 class 3 class 4]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
