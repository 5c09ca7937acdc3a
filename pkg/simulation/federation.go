package simulation

import (
	"cmp"
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
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// In a federation, two levels decide. Karmada gives each workload clusters, and each cluster's own controllers and scheduler place its share.
// A member is a world of its own, in which nothing knows of the others; the state of a step is the view of all, see cluster.Federation.

// fleet is what a world has for the members of a federation.
type fleet struct {
	members map[string]*run
	// probe answers what a cluster's scheduler would do.
	probe *World
}

// member returns the run of a member, which acts in a world of its own.
func (w *World) member(name string) (*run, error) {
	if m := w.fleet.members[name]; m != nil {
		return m, nil
	}
	world, err := NewWorld(w.config, w.ties)
	if err != nil {
		return nil, err
	}
	if w.fleet.members == nil {
		w.fleet.members = map[string]*run{}
	}
	m := &run{World: world}
	w.fleet.members[name] = m
	return m, nil
}

// close releases the worlds of the members.
func (f *fleet) close() {
	for _, m := range f.members {
		m.Close()
	}
	if f.probe != nil {
		f.probe.Close()
	}
	*f = fleet{}
}

// found returns the federation of the scenario's members before anything is applied, with what was assumed.
func (r *run) found() (*cluster.Federation, []string, error) {
	fed := &cluster.Federation{Control: &cluster.Control{Options: optionsOf(&r.scenario.Federation)}}
	var notes []string
	for i := range r.scenario.Members {
		next, noted, err := r.join(fed, &r.scenario.Members[i])
		if err != nil {
			return nil, nil, err
		}
		fed, notes = next, append(notes, noted...)
	}
	return inTime(fed), notes, nil
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

// join adds a member.
func (r *run) join(fed *cluster.Federation, m *scenario.Member) (*cluster.Federation, []string, error) {
	alone := *r.scenario
	alone.Members, alone.Cluster, alone.Workloads, alone.Steps = nil, m.Objects, nil, nil
	state, notes, err := admission.Admit(Empty(&alone), m.Objects...)
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
			m = m.In(at(m.State, now.Time))
			m.Settled = settled
			fed = fed.With(m)
		}
	}
	return fed
}

// actOnFederation carries out a step of a federation, and describes it.
func (r *run) actOnFederation(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, string, error) {
	fed, action, err := r.doInFederation(ctx, state, spec, step)
	if err != nil {
		return nil, "", err
	}
	if fed.Control != state.Federation.Control {
		step.Notes = append(step.Notes, unqueued(fed.Control)...)
	}
	return fed.Join(), action, nil
}

func (r *run) doInFederation(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.Federation, string, error) {
	fed := state.Federation
	switch {
	case spec.Join != nil:
		next, notes, err := r.join(fed, spec.Karmada.Joined)
		if err != nil {
			return nil, "", err
		}
		step.Notes = append(step.Notes, notes...)
		return inTime(next), "join " + spec.Karmada.Joined.Name, nil
	case spec.Apply != nil:
		control := r.applied(fed.Control, spec.Karmada, r.arriving(spec))
		return fed.Under(control), cmp.Or(spec.Action, "apply "+applied(spec)), nil
	case spec.Patch != nil:
		return r.patchTemplate(fed, spec)
	case spec.Scale != nil:
		replicas := spec.Scale.Replicas
		action := fmt.Sprintf("scale %s --replicas=%d", spec.Scale.Target.Argument(), replicas)
		return r.changeTemplate(fed, spec.Scale.Target, action, func(obj cluster.Object) (cluster.Object, error) {
			if of := cluster.ReplicasOf(obj); of != nil {
				*of = &replicas
			}
			return obj, nil
		})
	case spec.Rollout != nil:
		change, action := rolledOut(spec.Rollout, state.Now)
		return r.changeTemplate(fed, spec.Rollout.Target, action, func(obj cluster.Object) (cluster.Object, error) { return obj, change(obj) })
	case spec.Delete != nil:
		return r.deleteTemplates(fed, spec)
	case spec.Cordon != nil:
		return r.onMembers(ctx, state, spec.Cordon.Nodes, step, func(native *scenario.LoadedStep, nodes scenario.Nodes) {
			native.Cordon = &scenario.NodesInTurn{Nodes: nodes, Together: spec.Cordon.Together}
		}, spec)
	case spec.Uncordon != nil:
		return r.onMembers(ctx, state, spec.Uncordon.Nodes, step, func(native *scenario.LoadedStep, nodes scenario.Nodes) {
			native.Uncordon = &scenario.NodesInTurn{Nodes: nodes, Together: spec.Uncordon.Together}
		}, spec)
	case spec.Fail != nil:
		next, action, err := r.onMembers(ctx, state, spec.Fail.Nodes, step, func(native *scenario.LoadedStep, nodes scenario.Nodes) {
			native.Fail = &scenario.Fail{Nodes: nodes, Mode: spec.Fail.Mode}
		}, spec)
		if err != nil {
			return nil, "", err
		}
		return lost(next, state.Federation), action, nil
	case spec.Restore != nil:
		next, action, err := r.onMembers(ctx, r.withLost(state), spec.Restore.Nodes, step, func(native *scenario.LoadedStep, nodes scenario.Nodes) {
			native.Restore = &scenario.NodesInTurn{Nodes: nodes, Together: spec.Restore.Together}
		}, spec)
		if err != nil {
			return nil, "", err
		}
		return lost(next, state.Federation), action, nil
	}
	return fed, "", nil
}

// onMembers carries out a step on nodes in each member that has some of them.
func (r *run) onMembers(ctx context.Context, state *cluster.State, nodes scenario.Nodes, step *Step, as func(*scenario.LoadedStep, scenario.Nodes), spec *scenario.LoadedStep) (*cluster.Federation, string, error) {
	names, err := selectNodes(state, nodes)
	if err != nil {
		return nil, "", err
	}
	in := byMember(names)
	fed, verb := state.Federation, ""
	for _, m := range state.Federation.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		run, err := r.member(m.Name)
		if err != nil {
			return nil, "", err
		}
		run.scenario = r.scenario
		native := &scenario.LoadedStep{Step: scenario.Step{Name: spec.Name}}
		as(native, scenario.Nodes{Names: in[m.Name]})
		var did Step
		next, action, err := run.do(ctx, m.State, native, &did)
		if err != nil {
			return nil, "", fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		verb, _, _ = strings.Cut(action, " ")
		step.take(&m, &did)
		fed = fed.With(m.In(next))
	}
	return fed, verb + " " + list(names), nil
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
func (r *run) withLost(state *cluster.State) *cluster.State {
	next := *state
	for _, name := range slices.Sorted(maps.Keys(r.fleet.members)) {
		for _, lost := range r.fleet.members[name].lost {
			next.Nodes = append(slices.Clip(next.Nodes), state.Federation.Node(name, lost))
		}
	}
	return &next
}

// Fail makes nodes fail, as node.Fail does, also those of a federation. A member of which no node is left is lost: its control plane is, too.
func Fail(state *cluster.State, mode node.FailureMode, names ...string) (*cluster.State, error) {
	if state.Federation == nil {
		return node.Fail(state, mode, names...)
	}
	in := byMember(names)
	fed := state.Federation
	for _, m := range fed.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		failed, err := node.Fail(m.State, mode, in[m.Name]...)
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

// settleFederation lets Karmada and the members act until nothing moves any more. What happens is added to the step.
func (w *World) settleFederation(ctx context.Context, state *cluster.State, step *Step) (*cluster.State, error) {
	began := inTime(state.Federation).Members[0].State.Now.Time
	fed, err := w.settleMembers(ctx, state.Federation, step)
	if err != nil {
		return nil, err
	}
	for range maxRounds {
		next, err := w.karmada(ctx, fed, step)
		if err != nil {
			return nil, err
		}
		if next == fed {
			if next, err = w.failOver(ctx, fed, began, step); err != nil {
				return nil, err
			}
		}
		if next == fed {
			if next, err = w.moved(fed, step); err != nil {
				return nil, err
			}
		}
		if next == fed {
			break
		}
		if fed, err = w.settleMembers(ctx, next, step); err != nil {
			return nil, err
		}
	}
	return inTime(fed).Join(), nil
}

// settleMembers lets the members act in which things may move.
func (w *World) settleMembers(ctx context.Context, fed *cluster.Federation, step *Step) (*cluster.Federation, error) {
	for _, m := range fed.Members {
		if m.Settled || m.Lost {
			continue
		}
		run, err := w.member(m.Name)
		if err != nil {
			return nil, err
		}
		run.engine.Progress = w.engine.Progress
		run.Record = nil
		if w.Record != nil {
			run.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth { return w.Record(m.Owner(owner), m.Pod(pod)) }
		}
		var did Step
		settled, err := run.Settle(ctx, m.State, &did)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		step.take(&m, &did)
		m = m.In(settled)
		m.Settled = true
		fed = fed.With(m)
	}
	return fed, nil
}
