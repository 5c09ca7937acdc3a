package fleet

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/world"
)

// appendMemberRecord appends what happened in a member to the record of the federation. The record names pods and nodes with their member: web-0 of
// member a is a/web-0.
func appendMemberRecord(to *world.Record, m *cluster.Member, did *world.Record) {
	joined := func(name string) string {
		if name == "" {
			return ""
		}
		return cluster.JoinName(m.Name, name)
	}
	to.Pending = slices.DeleteFunc(to.Pending, func(p placement.Pending) bool { return p.Pod.Labels[cluster.MemberLabel] == m.Name })
	for _, p := range did.Placed {
		p.Pod, p.Node, p.RunnerUp = m.JoinedPod(p.Pod), joined(p.Node), joined(p.RunnerUp)
		p.Cycle = joinCycleNames(p.Cycle, joined)
		to.Placed = append(to.Placed, p)
	}
	for _, p := range did.Pending {
		p.Pod, p.Nominated, p.Cycle = m.JoinedPod(p.Pod), joined(p.Nominated), joinCycleNames(p.Cycle, joined)
		to.Pending = append(to.Pending, p)
	}
	for _, p := range did.Preempted {
		p.Victim, p.For, p.Node = m.JoinedPod(p.Victim), m.JoinedPod(p.For), joined(p.Node)
		if p.Ending != nil {
			p.Ending = m.JoinedPod(p.Ending)
		}
		to.Preempted = append(to.Preempted, p)
	}
	appendNotes(to, m, did.Notes)
}

// appendNotes appends the notes of a member to the record, each once.
func appendNotes(to *world.Record, m *cluster.Member, notes []string) {
	for _, text := range notes {
		if text = fmt.Sprintf("Cluster %s: %s", m.Name, text); !slices.Contains(to.Notes, text) {
			to.Notes = append(to.Notes, text)
		}
	}
}

// joinCycleNames returns a copy of the cycle with the nodes' names in the federation.
func joinCycleNames(c *placement.Cycle, joined func(string) string) *placement.Cycle {
	if c == nil {
		return nil
	}
	all := func(names []string) []string {
		if names == nil {
			return nil
		}
		return list.Map(names, joined)
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

// JoinRecord returns the record of a member with the names that the federation uses.
func JoinRecord(m *cluster.Member, did *world.Record) *world.Record {
	var shown world.Record
	appendMemberRecord(&shown, m, did)
	return &shown
}
