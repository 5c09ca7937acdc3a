package capacity

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/variant"
)

// Aside describes pods of a workload that no number of nodes would place, or bring back after a failure.
type Aside struct {
	// Workload is kind/name in lower case, preceded by the namespace if that is not the default one.
	Workload string `json:"workload"`
	Pods     int    `json:"pods"`
	// Empty means that not even an empty node takes such a pod. Otherwise twice as many nodes were tried, and did not help.
	Empty bool `json:"empty,omitempty"`
	// Level and Domain name the failure after which the pods have no node; missing if they have none even without a failure.
	Level  string `json:"level,omitempty"`
	Domain string `json:"domain,omitempty"`
	// Pod is the first of the pods, as namespace/name, and Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// failure is the loss of a domain of a level; empty if nothing fails.
type failure struct{ level, domain string }

// lack is the number of pods of a workload that have no node, without a failure or after one, and the first of these pods.
type lack struct {
	failure
	owner cluster.Ref
	pods  int
	first *placement.Pending
}

// countLacks counts the Pending pods by workload. It leaves out workloads with no more Pending pods than were set aside.
func (z *sizer) countLacks(f failure, state *cluster.State, pending []placement.Pending) []lack {
	var all []lack
	owner := state.Owners()
	for i := range pending {
		of := owner(pending[i].Pod)
		at := slices.IndexFunc(all, func(l lack) bool { return l.owner == of })
		if at < 0 {
			at = len(all)
			all = append(all, lack{failure: f, owner: of, first: &pending[i]})
		}
		all[at].pods++
	}
	return slices.DeleteFunc(all, func(l lack) bool { return l.pods <= z.aside[f][l.owner] })
}

// worstFailure returns the failure that leaves the most pods without a node.
func worstFailure(lacks []lack) Fewer {
	var all []Fewer
	for _, l := range lacks {
		if last := len(all) - 1; last >= 0 && all[last].Level == l.level && all[last].Domain == l.domain {
			all[last].Stranded += l.pods
			continue
		}
		fewer := Fewer{Level: l.level, Domain: l.domain, Stranded: l.pods}
		fewer.Pod, fewer.Message = l.first.Describe()
		all = append(all, fewer)
	}
	most := all[0]
	for _, f := range all {
		if f.Stranded > most.Stranded {
			most = f
		}
	}
	return most
}

// lacksFewer reports whether some workload lacks fewer nodes after than before.
func lacksFewer(before, after []lack) bool {
	return slices.ContainsFunc(before, func(l lack) bool {
		return !slices.ContainsFunc(after, func(still lack) bool {
			return still.failure == l.failure && still.owner == l.owner && still.pods >= l.pods
		})
	})
}

func (z *sizer) setAside(lacks []lack, empty bool) {
	for _, l := range lacks {
		if z.aside[l.failure] == nil {
			z.aside[l.failure] = map[cluster.Ref]int{}
		}
		z.aside[l.failure][l.owner] = l.pods
		aside := Aside{Workload: l.owner.Qualified(), Level: l.level, Domain: l.domain, Pods: l.pods, Empty: empty}
		aside.Pod, aside.Message = l.first.Describe()
		z.sizing.Aside = append(z.sizing.Aside, aside)
	}
	clear(z.results)
	z.bounds = nil
}

// allSetAside reports whether all pods were set aside.
func (z *sizer) allSetAside() bool {
	aside := 0
	for _, pods := range z.aside[failure{}] {
		aside += pods
	}
	return aside > 0 && aside == z.countPodsToPlace()
}

// countPodsToPlace counts the pods that need a node, without those that come with a node, such as a DaemonSet's.
func (z *sizer) countPodsToPlace() int {
	all := 0
	for _, pod := range z.state.Pods {
		if !cluster.IsTerminal(pod) && !variant.FollowsNodes(pod) {
			all++
		}
	}
	return all
}
