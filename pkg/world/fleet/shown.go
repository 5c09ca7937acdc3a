package fleet

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/world"
)

// take appends what happened in a member to the record of the federation. The record names pods and nodes with their member: web-0 of
// member a is a/web-0.
func take(to *world.Record, m *cluster.Member, did *world.Record) {
	joined := func(name string) string {
		if name == "" {
			return ""
		}
		return cluster.Joined(m.Name, name)
	}
	to.Pending = slices.DeleteFunc(to.Pending, func(p placement.Pending) bool { return p.Pod.Labels[cluster.MemberLabel] == m.Name })
	for _, p := range did.Placed {
		p.Pod, p.Node, p.RunnerUp = m.Pod(p.Pod), joined(p.Node), joined(p.RunnerUp)
		p.Cycle = inMember(p.Cycle, joined)
		to.Placed = append(to.Placed, p)
	}
	for _, p := range did.Pending {
		p.Pod, p.Nominated, p.Cycle = m.Pod(p.Pod), joined(p.Nominated), inMember(p.Cycle, joined)
		to.Pending = append(to.Pending, p)
	}
	for _, p := range did.Preempted {
		p.Victim, p.For, p.Node = m.Pod(p.Victim), m.Pod(p.For), joined(p.Node)
		if p.Ending != nil {
			p.Ending = m.Pod(p.Ending)
		}
		to.Preempted = append(to.Preempted, p)
	}
	note(to, m, did.Notes)
}

// note appends the notes of a member to the record, each once.
func note(to *world.Record, m *cluster.Member, notes []string) {
	for _, text := range notes {
		if text = fmt.Sprintf("Cluster %s: %s", m.Name, text); !slices.Contains(to.Notes, text) {
			to.Notes = append(to.Notes, text)
		}
	}
}

// inMember returns a copy of the cycle with the nodes' names in the federation.
func inMember(c *placement.Cycle, joined func(string) string) *placement.Cycle {
	if c == nil {
		return nil
	}
	all := func(names []string) []string {
		if names == nil {
			return nil
		}
		return list.Each(names, joined)
	}
	shown := *c
	shown.Named = all(c.Named)
	shown.Refusals = slices.Clone(c.Refusals)
	for i := range shown.Refusals {
		shown.Refusals[i].Nodes = all(c.Refusals[i].Nodes)
	}
	shown.Candidates = slices.Clone(c.Candidates)
	for i := range shown.Candidates {
		shown.Candidates[i].Node = joined(c.Candidates[i].Node)
	}
	return &shown
}

// Shown returns the record of a member with the names that the federation uses.
func Shown(m *cluster.Member, did *world.Record) *world.Record {
	var shown world.Record
	take(&shown, m, did)
	return &shown
}
