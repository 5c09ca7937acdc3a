// Package fleet is the world of several clusters under a federation. Two levels decide in it: Karmada gives each workload clusters, and each
// cluster's own controllers and scheduler place its share. A member is a world of its own, in which nothing knows of the others; the state
// shows all of them, see cluster.Federation.
package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Fleet is Karmada, and the worlds of its members.
type Fleet struct {
	world.Hooks
	config  *sched.Config
	ties    sched.Ties
	members map[string]*world.Cluster
	probe   *world.Cluster // answers what a cluster's scheduler would do
}

var _ world.World = (*Fleet)(nil)

// New returns the world of a federation, in which each member has a scheduler with the configuration.
func New(config *sched.Config, ties sched.Ties) *Fleet {
	return &Fleet{config: config, ties: ties, members: map[string]*world.Cluster{}}
}

// member returns the world of a member.
func (f *Fleet) member(name string) (*world.Cluster, error) {
	if m := f.members[name]; m != nil {
		return m, nil
	}
	m, err := world.NewCluster(f.config, f.ties)
	if err != nil {
		return nil, err
	}
	f.members[name] = m
	return m, nil
}

// acting returns the world of a member with the fleet's hooks.
func (f *Fleet) acting(m *cluster.Member) (*world.Cluster, error) {
	w, err := f.member(m.Name)
	if err != nil {
		return nil, err
	}
	hooks := world.Hooks{Progress: f.Progress}
	if f.Record != nil {
		hooks.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth { return f.Record(m.Owner(owner), m.Pod(pod)) }
	}
	w.Hook(hooks)
	return w, nil
}

// Config is the configuration of the schedulers.
func (f *Fleet) Config() *sched.Config { return f.config }

// Cycles counts the cycles of the members' schedulers.
func (f *Fleet) Cycles() sched.Cycles {
	var all sched.Cycles
	for _, m := range f.members {
		of := m.Cycles()
		all.Kept, all.Plain = all.Kept+of.Kept, all.Plain+of.Plain
	}
	return all
}

// Reset makes the members forget what they have done.
func (f *Fleet) Reset() {
	for _, m := range f.members {
		m.Reset()
	}
}

// ResetTo is Reset with other ties, for another federation.
func (f *Fleet) ResetTo(ties sched.Ties) error {
	f.Close()
	f.ties = ties
	return nil
}

// Close releases the members' schedulers.
func (f *Fleet) Close() {
	for _, m := range f.members {
		m.Close()
	}
	if f.probe != nil {
		f.probe.Close()
	}
	f.members, f.probe = map[string]*world.Cluster{}, nil
}

// Mark returns the position of all members.
func (f *Fleet) Mark() world.Mark {
	mark := world.Mark{Members: make(map[string]world.Mark, len(f.members))}
	for name, m := range f.members {
		mark.Members[name] = m.Mark()
	}
	return mark
}

// Resume takes the members back to the mark.
func (f *Fleet) Resume(mark world.Mark) error {
	for name, at := range mark.Members {
		m, err := f.member(name)
		if err != nil {
			return err
		}
		if err := m.Resume(at); err != nil {
			return err
		}
	}
	return nil
}

// Start returns the federation of the scenario's members.
func (f *Fleet) Start(s *scenario.Scenario) (*cluster.State, []string, error) {
	fed := &cluster.Federation{Control: &cluster.Control{Options: optionsOf(&s.Federation)}}
	var notes []string
	for i := range s.Members {
		next, noted, err := join(fed, &s.Members[i], s.TerminationSeconds)
		if err != nil {
			return nil, nil, err
		}
		fed, notes = next, append(notes, noted...)
	}
	return inTime(fed).Join(), notes, nil
}

// Renew returns the state without what the members refused to users. Their Pending pods are tried again.
func (f *Fleet) Renew(state *cluster.State) *cluster.State {
	fed := state.Federation
	for _, m := range fed.Members {
		m = m.In(world.Renewed(m.State))
		m.Settled = false
		fed = fed.With(m)
	}
	return fed.Join()
}

// Conclude adds how far rollouts are, and what became of the workloads.
func (f *Fleet) Conclude(state *cluster.State, _ *scenario.LoadedStep, to *world.Record) {
	to.Rollouts, to.Decisions = rollouts(state.Federation), decisions(state, to.Pending)
}

// optionsOf are those that the scenario gives Karmada.
func optionsOf(f *scenario.Federation) federation.Options {
	o := federation.Options{Gates: federation.Gates{WorkloadAffinity: f.FeatureGates["WorkloadAffinity"]}, AskMembers: f.Estimate == "scheduler"}
	if f.Failover.Enabled {
		rate := ptr.Deref(f.Failover.EvictionRate, federation.EvictionRate)
		o.Failover = &federation.FailoverOptions{
			PurgeMode: f.Failover.PurgeMode,
			Tolerated: time.Duration(ptr.Deref(f.Failover.TolerationSeconds, 0)) * time.Second,
			Interval:  time.Duration(float64(time.Second) / rate),
		}
	}
	return o
}

// join adds a member, whose pods take that long to end.
func join(fed *cluster.Federation, m *scenario.Member, terminationSeconds int64) (*cluster.Federation, []string, error) {
	alone := scenario.Scenario{Cluster: m.Objects, TerminationSeconds: terminationSeconds}
	state, notes, err := admission.Admit(alone.Empty(), m.Objects...)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster %s: %w", m.Name, err)
	}
	for i, note := range notes {
		notes[i] = fmt.Sprintf("Cluster %s: %s", m.Name, note)
	}
	control := *fed.Control
	control.Clusters = append(slices.Clip(control.Clusters), m.Cluster)
	next := fed.Under(&control).With(cluster.Member{Name: m.Name, State: state})
	return next.Under(requeued(next.Control, m.Cluster)), notes, nil
}

// inTime sets all members' clocks to the latest.
func inTime(fed *cluster.Federation) *cluster.Federation {
	var now = fed.Members[0].State.Now
	for _, m := range fed.Members {
		if now.Before(&m.State.Now) {
			now = m.State.Now
		}
	}
	for _, m := range fed.Members {
		if m.State.Now != now {
			settled := m.Settled
			m = m.In(world.At(m.State, now.Time))
			m.Settled = settled
			fed = fed.With(m)
		}
	}
	return fed
}

// Do carries out a step of a federation.
func (f *Fleet) Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.State, string, error) {
	fed, action, err := f.do(ctx, state, step, to)
	if err != nil {
		return nil, "", err
	}
	if fed.Control != state.Federation.Control {
		to.Notes = append(to.Notes, unqueued(fed.Control)...)
	}
	return fed.Join(), action, nil
}

func (f *Fleet) do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	fed := state.Federation
	if edit := world.EditOf(step, state.Now); edit != nil {
		if name, is := strings.CutPrefix(edit.Target.Target, "cluster/"); is {
			next, err := patchCluster(fed, name, step.Patch)
			return next, edit.Action, err
		}
		return changeTemplate(fed, edit)
	}
	switch {
	case step.Join != nil:
		next, notes, err := join(fed, step.Karmada.Joined, fed.Members[0].State.TerminationSeconds)
		if err != nil {
			return nil, "", err
		}
		to.Notes = append(to.Notes, notes...)
		return inTime(next), "join " + step.Karmada.Joined.Name, nil
	case step.Apply != nil:
		return fed.Under(applied(fed.Control, step.Karmada, step.Objects)), world.Applied(step), nil
	case step.Delete != nil:
		return deleteTemplates(fed, step)
	case step.Cordon != nil:
		return f.onMembers(ctx, state, step.Cordon.Nodes, step, to)
	case step.Uncordon != nil:
		return f.onMembers(ctx, state, step.Uncordon.Nodes, step, to)
	case step.Fail != nil:
		next, action, err := world.FailStep(f, state, step.Fail)
		if err != nil {
			return nil, "", err
		}
		return next.Federation, action, nil
	case step.Restore != nil:
		next, action, err := f.onMembers(ctx, f.withLost(state), step.Restore.Nodes, step, to)
		if err != nil {
			return nil, "", err
		}
		return lost(next, fed), action, nil
	}
	return fed, "", nil
}

// onMembers carries out a step on nodes in each member that has some of them.
func (f *Fleet) onMembers(ctx context.Context, state *cluster.State, nodes scenario.Nodes, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	names, err := world.SelectNodes(state, nodes)
	if err != nil {
		return nil, "", err
	}
	in := byMember(names)
	fed, verb := state.Federation, ""
	for _, m := range state.Federation.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		member, err := f.acting(&m)
		if err != nil {
			return nil, "", err
		}
		var did world.Record
		next, action, err := member.Do(ctx, m.State, on(in[m.Name], step), &did)
		if err != nil {
			return nil, "", fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		verb, _, _ = strings.Cut(action, " ")
		take(to, &m, &did)
		fed = fed.With(m.In(next))
	}
	return fed, verb + " " + world.List(names), nil
}

// on returns the step as one on the nodes of a member.
func on(nodes []string, step *scenario.LoadedStep) *scenario.LoadedStep {
	these := func(of *scenario.NodesInTurn) *scenario.NodesInTurn {
		if of == nil {
			return nil
		}
		return &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: nodes}, Together: of.Together}
	}
	return &scenario.LoadedStep{Step: scenario.Step{Cordon: these(step.Cordon), Uncordon: these(step.Uncordon), Restore: these(step.Restore)}}
}

// byMember are the nodes of each member, by their names there.
func byMember(names []string) map[string][]string {
	in := map[string][]string{}
	for _, joined := range names {
		member, name := cluster.Apart(joined)
		in[member] = append(in[member], name)
	}
	return in
}

// withLost shows the nodes, too, whose objects failures have deleted.
func (f *Fleet) withLost(state *cluster.State) *cluster.State {
	next := *state
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		for _, lost := range f.members[name].Lost() {
			next.Nodes = append(slices.Clip(next.Nodes), state.Federation.Node(name, lost))
		}
	}
	return &next
}

// Fail makes nodes of members fail. A member of which no node is left is lost: its control plane is, too.
func (f *Fleet) Fail(state *cluster.State, mode node.FailureMode, names ...string) (*cluster.State, error) {
	in := byMember(names)
	fed := state.Federation
	for _, m := range fed.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		member, err := f.member(m.Name)
		if err != nil {
			return nil, err
		}
		failed, err := member.Fail(m.State, mode, in[m.Name]...)
		if err != nil {
			return nil, err
		}
		fed = fed.With(m.In(failed))
	}
	return lost(fed, state.Federation).Join(), nil
}

// lost marks the members that have changed and of which no node answers, and taints their clusters as Karmada does; and the reverse.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/cluster_controller.go
func lost(fed, before *cluster.Federation) *cluster.Federation {
	for _, m := range fed.Members {
		down := !slices.ContainsFunc(m.State.Nodes, cluster.Answers)
		if down == m.Lost || m.State == before.Member(m.Name).State {
			continue
		}
		m.Lost = down
		was := fed.Control.Cluster(m.Name)
		now := *was
		now.Spec.Taints = slices.DeleteFunc(slices.Clone(was.Spec.Taints), func(t v1.Taint) bool { return t.Key == federation.TaintNotReady })
		if down {
			now.Spec.Taints = append(now.Spec.Taints, v1.Taint{Key: federation.TaintNotReady, Effect: v1.TaintEffectNoSchedule})
		}
		fed = fed.With(m).Under(changed(fed.Control, was, &now))
	}
	return fed
}

// Settle lets Karmada and the members act until nothing moves any more. What happens is added to the record.
func (f *Fleet) Settle(ctx context.Context, state *cluster.State, to *world.Record) (*cluster.State, error) {
	began := inTime(state.Federation).Members[0].State.Now.Time
	fed, err := f.settleMembers(ctx, state.Federation, to)
	if err != nil {
		return nil, err
	}
	for range world.MaxRounds {
		next, err := f.karmada(ctx, fed, to)
		if err != nil {
			return nil, err
		}
		if next == fed {
			if next, err = f.failOver(ctx, fed, began, to); err != nil {
				return nil, err
			}
		}
		if next == fed {
			if next, err = f.moved(fed, to); err != nil {
				return nil, err
			}
		}
		if next == fed {
			break
		}
		if fed, err = f.settleMembers(ctx, next, to); err != nil {
			return nil, err
		}
	}
	return inTime(fed).Join(), nil
}

// settleMembers lets the members act in which things may move.
func (f *Fleet) settleMembers(ctx context.Context, fed *cluster.Federation, to *world.Record) (*cluster.Federation, error) {
	for _, m := range fed.Members {
		if m.Settled || m.Lost {
			continue
		}
		member, err := f.acting(&m)
		if err != nil {
			return nil, err
		}
		var did world.Record
		settled, err := member.Settle(ctx, m.State, &did)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		take(to, &m, &did)
		m = m.In(settled)
		m.Settled = true
		fed = fed.With(m)
	}
	return fed, nil
}
