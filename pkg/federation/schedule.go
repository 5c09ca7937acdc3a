package federation

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Gates holds the feature gates of Karmada that affect scheduling.
type Gates struct {
	// WorkloadAffinity is alpha, and off by default. If it is off, groups of workloads have no effect.
	WorkloadAffinity bool
}

// Scheduler places bindings on clusters, as karmada-scheduler does.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/generic_scheduler.go
type Scheduler struct {
	// Clusters lists all member clusters, in any order.
	Clusters []*Cluster
	Gates    Gates
	// Estimate returns how many more replicas of the binding the cluster has room for. The default is [GeneralEstimate].
	Estimate func(b *Binding, c *Cluster) int32

	apart, together map[group][]*Binding
}

// group is an affinity group or an anti-affinity group of a namespace.
type group struct{ namespace, label string }

// Run schedules the bindings of the queue, and returns all bindings afterwards, in their order. The queue is a subset of all. The binding
// of the highest priority comes first; bindings of equal priority keep the order of the queue. Each sees the results of the bindings before
// it.
func (s *Scheduler) Run(all []*Binding, queue []*Binding) []*Binding {
	next := slices.Clone(all)
	at := make(map[*Binding]int, len(all))
	for i, b := range all {
		at[b] = i
	}
	s.indexGroups(next)
	queue = slices.Clone(queue)
	slices.SortStableFunc(queue, func(a, b *Binding) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, b := range queue {
		if !b.needsScheduling(s.Clusters) {
			continue
		}
		scheduled := s.schedule(b)
		next[at[b]] = scheduled
		s.replaceBinding(b, scheduled)
	}
	return next
}

// indexGroups groups the bindings by their affinity groups and anti-affinity groups.
func (s *Scheduler) indexGroups(bindings []*Binding) {
	s.apart, s.together = map[group][]*Binding{}, map[group][]*Binding{}
	for _, b := range bindings {
		namespace := b.Template.Namespace
		if b.AntiAffinityGroup != "" {
			of := group{namespace, b.AntiAffinityGroup}
			s.apart[of] = append(s.apart[of], b)
		}
		if b.AffinityGroup != "" {
			of := group{namespace, b.AffinityGroup}
			s.together[of] = append(s.together[of], b)
		}
	}
}

// replaceBinding replaces a binding in its groups.
func (s *Scheduler) replaceBinding(old, new *Binding) {
	in := func(of []*Binding) {
		if i := slices.Index(of, old); i >= 0 {
			of[i] = new
		}
	}
	in(s.apart[group{old.Template.Namespace, old.AntiAffinityGroup}])
	in(s.together[group{old.Template.Namespace, old.AffinityGroup}])
}

// needsScheduling reports whether a binding in the queue needs scheduling: its placement or its replicas have changed, it is not divided, or one of its
// clusters is being deleted. Otherwise it keeps its clusters, even when a better cluster joins.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/scheduler.go, doScheduleBinding
func (b *Binding) needsScheduling(clusters []*Cluster) bool {
	return b.placementChanged() || b.replicasChanged() || !b.Template.Workload || b.Placement.schedulingType() == Duplicated ||
		slices.ContainsFunc(clusters, func(c *Cluster) bool {
			_, there := b.On(c.Name)
			return there && c.DeletionTimestamp != nil
		})
}

// placementChanged reports whether the placement has changed in a way that requires scheduling again.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/helper.go, placementChanged
func (b *Binding) placementChanged() bool {
	was, is := b.applied, b.Placement
	switch {
	case was == nil:
		return true
	case reflect.DeepEqual(was, is):
		return false
	case !reflect.DeepEqual(was.ClusterAffinity, is.ClusterAffinity) || !reflect.DeepEqual(was.ClusterTolerations, is.ClusterTolerations) ||
		!reflect.DeepEqual(was.SpreadConstraints, is.SpreadConstraints) || !reflect.DeepEqual(was.ReplicaScheduling, is.ReplicaScheduling):
		return true
	}
	term := func(p *Placement) int {
		return slices.IndexFunc(p.ClusterAffinities, func(t ClusterAffinityTerm) bool { return t.AffinityName == b.affinity })
	}
	x, y := term(was), term(is)
	return b.affinity == "" || x < 0 || y < 0 || !reflect.DeepEqual(was.ClusterAffinities[x], is.ClusterAffinities[y])
}

// replicasChanged reports whether the targets do not have the template's replicas any more.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/binding.go, IsBindingReplicasChanged
func (b *Binding) replicasChanged() bool {
	switch r := b.Placement.ReplicaScheduling; {
	case r == nil:
		return false
	case r.ReplicaSchedulingType == Divided:
		return b.assignedReplicas() != b.Template.Replicas
	}
	return slices.ContainsFunc(b.Targets, func(t Target) bool { return t.Replicas != b.Template.Replicas })
}

// schedule returns the binding with its new clusters. If no cluster is feasible, the binding loses its clusters; after any other error it
// keeps them.
func (s *Scheduler) schedule(b *Binding) *Binding {
	next := *b
	targets, affinity, verdicts, err := s.tryAffinities(b)
	next.verdicts = verdicts
	next.Reason, next.Message = condition(err)
	var fit *FitError
	switch {
	case err == nil:
		next.Targets, next.affinity, next.applied = targets, affinity, b.Placement
	case errors.As(err, &fit):
		next.Targets, next.applied = nil, b.Placement
	}
	return &next
}

// tryAffinities tries the placement's groups of clusters, starting with the binding's last group, until one fits. If none fits, it returns the
// first group's error.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/scheduler.go,
// scheduleResourceBindingWithClusterAffinities
func (s *Scheduler) tryAffinities(b *Binding) (targets []Target, affinity string, verdicts []Verdict, err error) {
	terms := b.Placement.ClusterAffinities
	if terms == nil {
		targets, verdicts, err = s.tryOnce(b)
		return targets, b.affinity, verdicts, err
	}
	from := max(0, slices.IndexFunc(terms, func(t ClusterAffinityTerm) bool { return t.AffinityName == b.affinity }))
	var first error
	var of []Verdict
	for _, term := range terms[from:] {
		attempt := *b
		attempt.affinity = term.AffinityName
		if targets, verdicts, err = s.tryOnce(&attempt); err == nil {
			return targets, term.AffinityName, verdicts, nil
		}
		if first == nil {
			first, of = err, verdicts
		}
	}
	return nil, b.affinity, of, first
}

// tryOnce makes one scheduling attempt.
func (s *Scheduler) tryOnce(b *Binding) ([]Target, []Verdict, error) {
	feasible, refused := s.filter(b)
	if len(feasible) == 0 {
		return nil, refused, s.fitError(refused)
	}
	candidates := s.candidates(b, feasible)
	selected, err := selectClusters(b, candidates)
	if err != nil {
		return nil, append(verdictsOn(candidates, nil, nil), refused...), fmt.Errorf("failed to select clusters: %w", err)
	}
	targets, err := assign(b, selected)
	verdicts := append(verdictsOn(candidates, selected, targets), refused...)
	if err != nil {
		return nil, verdicts, fmt.Errorf("failed to assign replicas: %w", err)
	}
	return targets, verdicts, nil
}

// condition returns reason and message of the Scheduled condition after an attempt with this error.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/helper.go, getConditionByError
func condition(err error) (reason, message string) {
	var fit *FitError
	var short *roomError
	switch {
	case err == nil:
		return ReasonSuccess, "Binding has been scheduled successfully."
	case errors.As(err, &short):
		return ReasonUnschedulable, err.Error()
	case errors.As(err, &fit):
		return ReasonNoClusterFit, err.Error()
	}
	return ReasonSchedulerError, err.Error()
}
