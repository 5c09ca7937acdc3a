// Package fleet is the world of several clusters under a federation. Two levels decide in it: Karmada gives each workload clusters, and each
// cluster's own controllers and scheduler place its share. A member is a world of its own, in which nothing knows of the others; the state
// shows all of them, see cluster.Federation.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
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

// New returns the world of a federation, in which each member has a scheduler with the configuration. Without a configuration nothing acts in
// it; see world.NewCluster.
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
	fed := &cluster.Federation{Control: &cluster.Control{Options: optionsOf(&s.Federation), Stored: &cluster.State{Now: cluster.Epoch}}}
	var notes []string
	var problems []error
	for i := range s.Members {
		next, noted, err := f.add(fed, field.NewPath("clusters").Index(i).Child("cluster"), &s.Members[i], s.TerminationSeconds)
		fed, notes, problems = next, append(notes, noted...), append(problems, err)
	}
	return inTime(fed).Join(), notes, errors.Join(problems...)
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

// optionsOf returns the options that the scenario gives Karmada.
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
			if next, err = f.endMoves(fed, to); err != nil {
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

// settleMembers lets the members act that have changed.
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
