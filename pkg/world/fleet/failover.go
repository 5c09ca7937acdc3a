package fleet

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/world"
)

// failOver moves the next workload away from a cluster that has a NoExecute taint, if the scenario enables failover. A lost cluster has
// such a taint. It returns the same federation if no workload must move. The taints count from since, the beginning of the step. Members
// act between one workload and the next.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/taint_manager.go
func (f *Fleet) failOver(ctx context.Context, fed *cluster.Federation, since time.Time, to *world.Record) (*cluster.Federation, error) {
	options := fed.Control.Options.Failover
	if options == nil {
		return fed, nil
	}
	var due *eviction
	for _, m := range fed.Members {
		taints := slices.Clone(fed.Control.Cluster(m.Name).Spec.Taints)
		if m.Lost {
			taints = append(taints, v1.Taint{Key: federation.TaintNotReady, Effect: v1.TaintEffectNoExecute})
		}
		for i, b := range fed.Control.Bindings {
			if _, there := b.On(m.Name); !there {
				continue
			}
			if tolerated := b.ToleratedFor(taints, options.Tolerated); tolerated >= 0 && (due == nil || tolerated < due.tolerated) {
				due = &eviction{cluster: m.Name, binding: i, tolerated: tolerated}
			}
		}
	}
	if due == nil {
		return fed, nil
	}
	now := nextMove(to, since.Add(due.tolerated), options.Interval)
	control := *fed.Control
	b := control.Bindings[due.binding]
	control.Bindings = slices.Clone(control.Bindings)
	control.Bindings[due.binding] = b.Evict(due.cluster, b.PurgeMode(options.PurgeMode), now)
	control.Queue = replaceOrAppend(slices.Clip(control.Queue), b.Template.Key(), func(k federation.Key) bool { return k == b.Template.Key() })
	return f.runKarmada(ctx, advanceClocks(fed.WithControl(&control), now), to)
}

// eviction is a binding that must leave a cluster, and how long the binding tolerates the cluster's taints.
type eviction struct {
	cluster   string
	binding   int
	tolerated time.Duration
}

// advanceClocks advances the clocks of the members that act to now. A clock that is later stays.
func advanceClocks(fed *cluster.Federation, now time.Time) *cluster.Federation {
	for _, m := range fed.Members {
		if !m.Lost && now.After(m.State.Now.Time) {
			settled := m.Settled
			m = m.WithState(world.AtTime(m.State, now))
			m.Settled = settled
			fed = fed.With(m)
		}
	}
	return fed
}

// endMoves ends every move of a workload: at once if the new copies run, otherwise after Karmada's timeout for a graceful eviction. It
// returns the same federation if no workload moves.
func (f *Fleet) endMoves(fed *cluster.Federation, to *world.Record) (*cluster.Federation, error) {
	next, now := *fed.Control, fed.Members[0].State.Now.Time
	next.Bindings = slices.Clone(fed.Control.Bindings)
	ended := false
	for i, b := range next.Bindings {
		if len(b.Evictions) == 0 {
			continue
		}
		healthy := runsAllReplicas(fed, b)
		if !healthy {
			now = b.Evictions[len(b.Evictions)-1].Since.Add(federation.GracefulTimeout + time.Second)
		}
		next.Bindings[i], ended = b.WithoutEvicted(healthy, now), true
	}
	if !ended {
		return fed, nil
	}
	return f.syncMembers(advanceClocks(fed.WithControl(&next), now), to)
}

// runsAllReplicas reports whether every cluster of the binding runs all replicas that it was assigned. Karmada does not look at Jobs: they count as
// healthy once they are created.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/resourceinterpreter/default/native/healthy.go
func runsAllReplicas(fed *cluster.Federation, b *federation.Binding) bool {
	for _, target := range b.Targets {
		m := fed.Member(target.Cluster)
		if b.Template.Kind == "Job" && !m.Lost {
			continue
		}
		if m.Lost || len(runningPods(m.State, m.Works[b.Template.Key()].Objects)) < int(target.Replicas) {
			return false
		}
	}
	return len(b.Targets) > 0
}

// nextMove returns when the next workload moves: at next, when its toleration ends, but at least an interval after the last move. It stores
// the time in the record.
func nextMove(to *world.Record, next time.Time, interval time.Duration) time.Time {
	if !to.MovedAt.IsZero() && next.Before(to.MovedAt.Add(interval)) {
		next = to.MovedAt.Add(interval)
	}
	to.MovedAt = next
	return next
}
