package capacity

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/variant"
)

// Aside are pods of a workload that no number of nodes would place, or bring back.
type Aside struct {
	// Workload is kind/name in lower case, after the namespace if that is not the default one.
	Workload string `json:"workload"`
	Pods     int    `json:"pods"`
	// Empty means that no node takes such a pod even when it is empty. Otherwise twice the nodes were tried, and did not help.
	Empty bool `json:"empty,omitempty"`
	// Level and Domain are the failure after which they have no node; missing if they have none before.
	Level  string `json:"level,omitempty"`
	Domain string `json:"domain,omitempty"`
	// Pod is the first of them as namespace/name, and Message kube-scheduler's text.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// failure is the loss of a domain of a level; empty if nothing fails.
type failure struct{ level, domain string }

// lack is how many pods of a workload have no node, and the first of them.
type lack struct {
	failure
	owner cluster.Ref
	pods  int
	first *placement.Pending
}

// lacks counts the Pending pods by workload, without those that were set aside.
func (z *sizer) lacks(f failure, state *cluster.State, pending []placement.Pending) []lack {
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

// worst sums up the failure that leaves the most pods without a node.
func worst(lacks []lack) Fewer {
	var all []Fewer
	for _, l := range lacks {
		if last := len(all) - 1; last >= 0 && all[last].Level == l.level && all[last].Domain == l.domain {
			all[last].Stranded += l.pods
			continue
		}
		fewer := Fewer{Level: l.level, Domain: l.domain, Stranded: l.pods}
		fewer.Pod, fewer.Message = l.first.Said()
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

// helped reports whether something that was lacking no longer is, or less.
func helped(before, after []lack) bool {
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
		aside.Pod, aside.Message = l.first.Said()
		z.sizing.Aside = append(z.sizing.Aside, aside)
	}
	clear(z.known)
	z.bounds = nil
}

// nothingLeft reports whether every pod was set aside.
func (z *sizer) nothingLeft() bool {
	aside := 0
	for _, pods := range z.aside[failure{}] {
		aside += pods
	}
	return aside > 0 && aside == z.toPlace()
}

// toPlace counts the pods that do not come with a node.
func (z *sizer) toPlace() int {
	all := 0
	for _, pod := range z.state.Pods {
		if !cluster.Terminal(pod) && !variant.FollowsNodes(pod) {
			all++
		}
	}
	return all
}
