// Package upgrade asks what another release of Kubernetes changes for the objects of a scenario: which pods it would place elsewhere, which
// objects it refuses or completes in another way, and which of its feature gates matter to any of them.
package upgrade

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Answer is what changes from one release to another.
type Answer struct {
	// From and To are the minor releases.
	From string `json:"from"`
	To   string `json:"to"`
	// Pods is how many pods were placed anew by both releases, each alone, in the cluster as it is after the last step.
	Pods int `json:"pods"`
	// Changes are those that the releases do not place alike.
	Changes []Change `json:"changes"`
	// Reasons are the plugins that decide of these, the one that decides of most pods first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Problems are why the later release refuses the input as a whole; then nothing else is known.
	Problems []string `json:"problems,omitempty"`
	// Refused are objects that only the earlier release accepts, and Accepted those that only the later one does.
	Refused  []cluster.Ref `json:"refused,omitempty"`
	Accepted []cluster.Ref `json:"accepted,omitempty"`
	// Completed are objects that the releases store in different ways.
	Completed []Completed `json:"completed,omitempty"`
	// Gates are the feature gates that change, if an object has to do with them.
	Gates []Gate `json:"gates,omitempty"`
	// Unserved are objects whose API version the later release does not know.
	Unserved []Unserved `json:"unserved,omitempty"`
	// NotSimulated are differences between the releases that are not simulated.
	NotSimulated []Difference `json:"notSimulated"`
}

// Change is a pod that the releases do not place alike.
type Change struct {
	cluster.PodRef
	// Node is the pod's node in the scenario; missing if it has none.
	Node string `json:"node,omitempty"`
	// From and To are the nodes on which the releases place the pod; missing if it stays Pending.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Message is why the pod stays Pending in the later release, in the scheduler's words.
	Message string `json:"message,omitempty"`
	// Plugin is the scheduler's plugin that judges the two nodes in another way, and Why says how; missing if it takes several.
	Plugin string `json:"plugin,omitempty"`
	Why    string `json:"why,omitempty"`
}

// Completed is an object that the releases store in different ways.
type Completed struct {
	cluster.Ref
	// Fields are the paths of the fields that differ.
	Fields []string `json:"fields"`
}

// Unserved is an object whose API version a release does not know.
type Unserved struct {
	APIVersion string `json:"apiVersion"`
	cluster.Ref
}

// Side is the scenario as one of the releases reads it.
type Side struct {
	*scenario.Scenario
	// placed are where each pod goes that is placed anew alone, in the state that the question is about.
	placed map[cluster.Ref]outcome
}

type outcome struct{ node, message string }

// Place places each pod of the state anew, alone, while all others stay: as the side's release, and as the side's scenario has the pod. Nothing
// moves by itself in a cluster, so this is the question that has an answer for each pod.
func (s *Side) Place(ctx context.Context, state *cluster.State, progress func(done, total int)) error {
	done := 0
	all := func(*v1.Pod) bool {
		progress(done, len(state.Pods))
		done++
		return true
	}
	s.placed = map[cluster.Ref]outcome{}
	err := s.each(ctx, state, nil, all, func(pod cluster.Ref, result *placement.Result) {
		switch {
		case len(result.Placed) > 0:
			s.placed[pod] = outcome{node: result.Placed[0].Node}
		case len(result.Pending) > 0:
			s.placed[pod] = outcome{message: result.Pending[0].Message}
		}
	})
	progress(len(state.Pods), len(state.Pods))
	return err
}

// stays reports whether no scheduler would place the pod again: it has ended, or its kubelet alone makes it.
func stays(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Compare returns what changes from one side to the other. Both have placed the pods of the state.
func Compare(from, to *Side, state *cluster.State) (*Answer, error) {
	older, newer := from.Config.Release(), to.Config.Release()
	a := &Answer{From: older.Minor(), To: newer.Minor(), Changes: []Change{}, NotSimulated: differences(older.Minor(), newer.Minor())}
	owner := state.Owners()
	for _, pod := range state.Pods {
		ref := cluster.RefTo(pod)
		before, asked := from.placed[ref]
		after, both := to.placed[ref]
		if !asked || !both {
			continue
		}
		if a.Pods++; before.node != after.node {
			change := Change{PodRef: cluster.NewPodRef(pod, owner(pod)), Node: pod.Spec.NodeName, From: before.node, To: after.node}
			if after.node == "" {
				change.Message = after.message
			}
			a.Changes = append(a.Changes, change)
		}
	}
	a.compareObjects(from.Objects(), to.Objects())
	a.unserved(to.Scenario)
	gates, err := flipped(older, newer, slices.Concat(from.Objects(), to.Objects()))
	a.Gates = gates
	return a, err
}

// Refusal is the answer if the later release refuses the input, with an error of one line for each problem.
func Refusal(from, to string, problems error) *Answer {
	a := &Answer{From: from, To: to, Changes: []Change{}, NotSimulated: differences(from, to)}
	for line := range strings.Lines(problems.Error()) {
		a.Problems = append(a.Problems, strings.TrimSpace(line))
	}
	return a
}

// compareObjects finds the objects that only one of the releases has accepted, and those that they have completed in different ways.
func (a *Answer) compareObjects(from, to []cluster.Object) {
	older, newer := byRef(from), byRef(to)
	for _, ref := range slices.SortedFunc(maps.Keys(older), cluster.Ref.Compare) {
		other, found := newer[ref]
		if !found {
			a.Refused = append(a.Refused, ref)
		} else if fields := differing(older[ref], other); len(fields) > 0 {
			a.Completed = append(a.Completed, Completed{ref, fields})
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(newer), cluster.Ref.Compare) {
		if older[ref] == nil {
			a.Accepted = append(a.Accepted, ref)
		}
	}
}

func byRef(objects []cluster.Object) map[cluster.Ref]cluster.Object {
	return list.By(objects, cluster.RefTo)
}

// differing returns the paths of the fields in which the objects differ.
func differing(a, b cluster.Object) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	var fields []string
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		left, isMap := a.(map[string]any)
		right, both := b.(map[string]any)
		if !isMap || !both {
			if !reflect.DeepEqual(a, b) {
				fields = append(fields, path)
			}
			return
		}
		all := maps.Clone(left)
		maps.Copy(all, right)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			below := key
			if path != "" {
				below = path + "." + key
			}
			walk(below, left[key], right[key])
		}
	}
	walk("", plain(a), plain(b))
	return fields
}

func plain(obj cluster.Object) any {
	var read any
	if data, err := json.Marshal(obj); err == nil { // what was read from JSON can be written as JSON
		_ = json.Unmarshal(data, &read)
	}
	return read
}
