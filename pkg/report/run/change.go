package run

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// dumped are the pods of the first step that come from a running cluster, or have a node there, by their UIDs. Pods of manifests have UIDs
// by now, too.
func dumped(s *scenario.Scenario) map[types.UID]*v1.Pod {
	objects := s.Workloads
	if len(s.Steps) > 0 {
		objects = slices.Concat(objects, s.Steps[0].Objects)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, obj := range objects {
		if pod, is := obj.(*v1.Pod); is && (cluster.Dumped(pod) || pod.Spec.NodeName != "") {
			pods[pod.UID] = pod
		}
	}
	return pods
}

func podsOf(state *cluster.State) map[types.UID]*v1.Pod {
	return list.By(state.Pods, func(pod *v1.Pod) types.UID { return pod.UID })
}

// comesWith reports whether a pod is there because of a node that is not among these.
func comesWith(nodes []*v1.Node) func(*v1.Pod) bool {
	known := sets.New[string]()
	for _, node := range nodes {
		known.Insert(node.Name)
	}
	return func(pod *v1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(pod)
		return by != nil && by.Kind == "DaemonSet" && pod.Spec.NodeName != "" && !known.Has(pod.Spec.NodeName)
	}
}

// newChange compares the pods that were there, on these nodes, with those of the state. A StatefulSet's pod that is made anew is new. Pods that
// a DaemonSet makes for new nodes are not counted, since nobody asked for them.
func newChange(there map[types.UID]*v1.Pod, nodes []*v1.Node, state *cluster.State) *Change {
	c, comes := &Change{}, comesWith(nodes)
	for _, refusal := range state.Refused {
		c.Refused += refusal.Pods
	}
	pending := func(pod *v1.Pod) bool { return cluster.Active(pod) && pod.Spec.NodeName == "" }
	for _, pod := range there {
		if pending(pod) {
			c.WasPending++
		}
	}
	for _, pod := range state.Pods {
		before := there[pod.UID]
		switch {
		case !cluster.Active(pod) || comes(pod):
		case before == nil:
			c.New++
			if pending(pod) {
				c.NewPending++
			}
		case pending(pod) && pending(before):
			c.StillPending++
		case pending(pod):
			c.Pending++
		}
	}
	return c
}

// Text is the answer to what was asked of a cluster with pods: "No: 7 of 12 new pods do not fit (7 others were Pending before)". With says
// how many nodes came or went.
func (c *Change) Text(with string) string {
	line := "Nothing is newly Pending"
	var short []string
	if c.NewPending > 0 {
		short = append(short, fmt.Sprintf("%d of %s %s not fit", c.NewPending, words.Count(c.New, "new pod"), words.Pick(c.NewPending, "does", "do")))
	}
	if c.Refused > 0 {
		short = append(short, words.Is(c.Refused, "new pod")+" refused by the API server")
	}
	switch {
	case len(short) > 0:
		line = "No: " + strings.Join(short, ", and ")
	case c.New == 1:
		line = "Yes: the new pod fits"
	case c.New > 0:
		line = fmt.Sprintf("Yes: all %d new pods fit", c.New)
	}
	if c.NewPending > 0 && with != "" {
		line += ", even"
	}
	line += with
	if c.Pending > 0 {
		line += fmt.Sprintf(", and %s that ran %s Pending", words.Count(c.Pending, "pod"), words.Pick(c.Pending, "is", "are"))
	}
	var old []string
	if c.StillPending > 0 {
		old = append(old, fmt.Sprintf("%d %s Pending before", c.StillPending, words.Pick(c.StillPending, "other was", "others were")))
	}
	if got := c.WasPending - c.StillPending; got > 0 {
		old = append(old, fmt.Sprintf("%d that %s Pending before %s", got, words.Pick(got, "was", "were"), words.Pick(got, "no longer is", "no longer are")))
	}
	if len(old) > 0 {
		line += " (" + words.And(old) + ")"
	}
	return line
}
