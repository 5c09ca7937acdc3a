// Package fleet is the world of several clusters under a federation. Decisions fall on two levels: Karmada assigns each workload to
// clusters, and each cluster's own controllers and scheduler place its share. Each member is a world of its own and knows nothing of the
// others. The state shows all members; see [cluster.Federation].
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

// Fleet is the world of a federation: Karmada, and a world for each member.
type Fleet struct {
	world.Hooks
	config  *sched.Config
	ties    sched.Ties
	members map[string]*world.Cluster
	probe   *world.Cluster // computes what a member's scheduler would do, for estimates
}

var _ world.World = (*Fleet)(nil)

// New returns the world of a federation, in which each member has a scheduler of the configuration. Without a configuration nothing acts;
// see [world.NewCluster].
func New(config *sched.Config, ties sched.Ties) *Fleet {
	return &Fleet{config: config, ties: ties, members: map[string]*world.Cluster{}}
}

// memberWorld returns the world of a member, and creates it at the first call.
func (f *Fleet) memberWorld(name string) (*world.Cluster, error) {
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

// memberWithHooks returns the world of a member, with hooks that call the fleet's.
func (f *Fleet) memberWithHooks(m *cluster.Member) (*world.Cluster, error) {
	w, err := f.memberWorld(m.Name)
	if err != nil {
		return nil, err
	}
	hooks := world.Hooks{Progress: f.Progress}
	if f.Record != nil {
		hooks.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth {
			return f.Record(m.JoinedOwner(owner), m.JoinedPod(pod))
		}
	}
	w.SetHooks(hooks)
	return w, nil
}

// Config returns the configuration of the schedulers.
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

// Reset makes all members forget what they have done; see [world.World].
func (f *Fleet) Reset() {
	for _, m := range f.members {
		m.Reset()
	}
}

// ResetTo closes all members, since another federation has others, and sets the ties.
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

// Mark returns the positions of all members.
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
		m, err := f.memberWorld(name)
		if err != nil {
			return err
		}
		if err := m.Resume(at); err != nil {
			return err
		}
	}
	return nil
}

// Start returns the scenario's federation before any step; see [world.World].
func (f *Fleet) Start(s *scenario.Scenario) (*cluster.State, []string, error) {
	fed := &cluster.Federation{Control: &cluster.Control{Options: karmadaOptions(&s.Federation), Stored: &cluster.State{Now: cluster.Epoch}}}
	var notes []string
	var problems []error
	for i := range s.Members {
		next, noted, err := f.addMember(fed, field.NewPath("clusters").Index(i).Child("cluster"), &s.Members[i], s.TerminationSeconds)
		fed, notes, problems = next, append(notes, noted...), append(problems, err)
	}
	return syncClocks(fed).Join(), notes, errors.Join(problems...)
}

// DropUserRefusals returns the state without the requests of users that the members refused. The members' Pending pods are tried again.
func (f *Fleet) DropUserRefusals(state *cluster.State) *cluster.State {
	fed := state.Federation
	for _, m := range fed.Members {
		m = m.WithState(world.WithoutUserRefusals(m.State))
		m.Settled = false
		fed = fed.With(m)
	}
	return fed.Join()
}

// Conclude adds to the record how far rollouts are, and the decisions for each workload.
func (f *Fleet) Conclude(state *cluster.State, _ *scenario.LoadedStep, to *world.Record) {
	to.Rollouts, to.Decisions = sumRollouts(state.Federation), decisions(state, to.Pending)
}

// karmadaOptions returns Karmada's options as the scenario gives them.
func karmadaOptions(f *scenario.Federation) federation.Options {
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

// syncClocks sets all members' clocks to the latest of them.
func syncClocks(fed *cluster.Federation) *cluster.Federation {
	var now = fed.Members[0].State.Now
	for _, m := range fed.Members {
		if now.Before(&m.State.Now) {
			now = m.State.Now
		}
	}
	for _, m := range fed.Members {
		if m.State.Now != now {
			settled := m.Settled
			m = m.WithState(world.AtTime(m.State, now.Time))
			m.Settled = settled
			fed = fed.With(m)
		}
	}
	return fed
}

// Settle lets Karmada and the members act until nothing moves any more. The record gets what happens.
func (f *Fleet) Settle(ctx context.Context, state *cluster.State, to *world.Record) (*cluster.State, error) {
	began := syncClocks(state.Federation).Members[0].State.Now.Time
	fed, err := f.settleMembers(ctx, state.Federation, to)
	if err != nil {
		return nil, err
	}
	for range world.MaxRounds {
		next, err := f.runKarmada(ctx, fed, to)
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
	return syncClocks(fed).Join(), nil
}

// settleMembers settles the members that have changed since they last settled.
func (f *Fleet) settleMembers(ctx context.Context, fed *cluster.Federation, to *world.Record) (*cluster.Federation, error) {
	for _, m := range fed.Members {
		if m.Settled || m.Lost {
			continue
		}
		member, err := f.memberWithHooks(&m)
		if err != nil {
			return nil, err
		}
		var did world.Record
		settled, err := member.Settle(ctx, m.State, &did)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		appendMemberRecord(to, &m, &did)
		m = m.WithState(settled)
		m.Settled = true
		fed = fed.With(m)
	}
	return fed, nil
}
