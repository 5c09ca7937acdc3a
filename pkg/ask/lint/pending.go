package lint

import (
	"cmp"
	"slices"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Pending is a workload with Pending pods.
type Pending struct {
	Object
	// Pods is the number of Pending pods, and Wanted the number of pods that the workload wants or has.
	Pods   int `json:"pods"`
	Wanted int `json:"wanted"`
	// Why says in a few words why the first of these pods has no node.
	Why string `json:"why"`
}

// maxWhy is how many characters of kube-scheduler's message stand in place of a reason that is not known.
const maxWhy = 120

// placingKinds are kinds that pods need for a node: a pod may only seem to be Pending if one of them may not be read.
var placingKinds = []string{"Node", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "PodGroup"}

// findPending returns the workloads with Pending pods after the last step before any step takes nodes away.
func (l *inspection) findPending() ([]Pending, error) {
	if slices.ContainsFunc(placingKinds, func(kind string) bool { return slices.Contains(l.result.Scenario.Unread, kind) }) {
		return nil, nil
	}
	var last *simulation.Step
	wanted := map[cluster.Ref]int{}
	for _, s := range l.subjects {
		if !s.nodesKept {
			break
		}
		last, wanted[s.owner] = s.step, s.replicas
	}
	if last == nil {
		return nil, nil
	}
	owner, counts := last.State.Owners(), last.State.PodCounts()
	var all []Pending
	for _, group := range list.GroupBy(last.Pending, func(p placement.Pending) cluster.Ref { return owner(p.Pod) }) {
		finder, err := l.causeFinder()
		if err != nil {
			return nil, err
		}
		causes, err := finder.ExplainPending(l.ctx, last.State, &group[0])
		if err != nil {
			return nil, err
		}
		of := owner(group[0].Pod)
		all = append(all, Pending{objectOf(of), len(group), max(wanted[of], counts[of].Running+counts[of].Pending), cmp.Or(cause.Brief(causes), words.Shorten(group[0].Why(), maxWhy))})
	}
	return all, nil
}
