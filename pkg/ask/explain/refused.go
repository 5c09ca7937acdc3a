package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Taking is a single change with which Karmada accepts a workload that it refuses.
type Taking struct {
	// Change describes the change.
	Change string `json:"change"`
	// Clusters are the clusters that the workload then gets, with their replicas; 0 if these are not counted.
	Clusters []federation.Target `json:"clusters"`
}

// FindTakings returns the single changes with which Karmada accepts a workload that it refuses, and descriptions of changes that do not help. A
// change is one of the workload, or of what its policy says about this workload alone. Each change was tried on the federation as it is after
// the step: Karmada schedules only the changed workload again. The changes are, in this order:
//
//  1. Tolerate a taint of a cluster.
//  2. Have another value of the label that makes the workload's groups.
//  3. Name no clusters in the cluster affinity.
//  4. Have no spread constraints.
//  5. Run fewer replicas, where it has replicas: as many as possible.
//
// There are none for a workload that Karmada has accepted, since no threshold in one of these decides its clusters.
func FindTakings(ctx context.Context, result *simulation.Result, step *simulation.Step, d *world.Decision) (takings []Taking, tried []string, err error) {
	control := step.State.Federation.Control
	at := slices.IndexFunc(control.Policies, func(p *federation.Policy) bool { return p.String() == d.Binding.Policy })
	if d.Binding.Scheduled() || at < 0 {
		return nil, nil, nil
	}
	w, err := simulation.NewWorld(result.Scenario)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	r := &refusedWorkload{world: w, fed: step.State.Federation, binding: d.Binding, policy: control.Policies[at]}
	for _, change := range slices.Concat(r.tolerate(), r.regroup(), r.unbind()) {
		targets, err := r.tryChange(ctx, change)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", change.words, err)
		case targets == nil:
			tried = append(tried, change.words)
		default:
			takings = append(takings, Taking{change.words, targets})
		}
	}
	fewer, err := r.findFewerReplicas(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case fewer != nil:
		takings = append(takings, *fewer)
	case d.Binding.Template.Replicas > 1:
		tried = append(tried, "fewer replicas")
	}
	return takings, tried, nil
}

// refusedWorkload is a workload that Karmada refuses, and the federation in which changes are tried.
type refusedWorkload struct {
	world   world.World
	fed     *cluster.Federation
	binding *federation.Binding
	policy  *federation.Policy
}

// change is a change of copies of the template and of its policy.
type change struct {
	words string
	apply func(*federation.Template, *federation.Policy)
}

// tryChange returns the clusters that the workload gets with the change; nil if Karmada still refuses it.
func (r *refusedWorkload) tryChange(ctx context.Context, c change) ([]federation.Target, error) {
	template, policy := *r.binding.Template, *r.policy
	c.apply(&template, &policy)
	changed := r.binding.Rebind(&template, &policy)
	control := *r.fed.Control
	control.Templates, control.Bindings = slices.Clone(control.Templates), slices.Clone(control.Bindings)
	for i, t := range control.Templates {
		if t.Key() == template.Key() {
			control.Templates[i] = &cluster.ResourceTemplate{Template: &template, Objects: t.Objects}
		}
	}
	control.Bindings[slices.Index(control.Bindings, r.binding)] = changed
	control.Queue = []federation.Key{template.Key()}
	settled, err := r.world.Settle(ctx, r.fed.WithControl(&control).Join(), &world.Record{})
	if err != nil {
		return nil, err
	}
	for _, b := range settled.Federation.Control.Bindings {
		if b.Template.Key() == template.Key() && b.Scheduled() {
			return b.Targets, nil
		}
	}
	return nil, nil
}

// tolerate returns the changes in which the policy tolerates each taint for which clusters refuse the workload.
func (r *refusedWorkload) tolerate() []change {
	var changes []change
	var taints []v1.Taint
	for _, v := range r.binding.Verdicts() {
		cl := r.fed.Control.Cluster(v.Cluster)
		if v.Filter != "TaintToleration" || cl == nil {
			continue
		}
		for _, taint := range cl.Spec.Taints {
			known := func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value }
			if taint.Effect == v1.TaintEffectPreferNoSchedule || slices.ContainsFunc(taints, known) || !strings.Contains(v.Refusal, "{"+taint.ToString()+"}") {
				continue
			}
			taints = append(taints, taint)
			toleration := v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}
			changes = append(changes, change{"tolerate " + taint.ToString() + " in its policy", func(_ *federation.Template, p *federation.Policy) {
				p.Spec.Placement.ClusterTolerations = append(slices.Clip(p.Spec.Placement.ClusterTolerations), toleration)
			}})
		}
	}
	return changes
}

// regroup returns the changes that give the label of each of the workload's groups a value that no other workload has.
func (r *refusedWorkload) regroup() []change {
	if !r.fed.Control.Options.Gates.WorkloadAffinity {
		return nil
	}
	var changes []change
	for _, group := range []struct{ of, label string }{{"anti-affinity", r.binding.AntiAffinityGroup}, {"affinity", r.binding.AffinityGroup}} {
		key, value, found := strings.Cut(group.label, "=")
		if !found {
			continue
		}
		other := value + "-other"
		for slices.ContainsFunc(r.fed.Control.Templates, func(t *cluster.ResourceTemplate) bool { return t.Labels[key] == other }) {
			other += "-other"
		}
		changes = append(changes, change{fmt.Sprintf("another %s group: a label %s of another value than %q", group.of, key, value), func(t *federation.Template, _ *federation.Policy) {
			labels := map[string]string{}
			for k, v := range t.Labels {
				labels[k] = v
			}
			labels[key] = other
			t.Labels = labels
		}})
	}
	return changes
}

// unbind returns the changes that remove what limits the clusters.
func (r *refusedWorkload) unbind() []change {
	var changes []change
	placement := &r.policy.Spec.Placement
	if placement.ClusterAffinity != nil || len(placement.ClusterAffinities) > 0 {
		changes = append(changes, change{"no cluster affinity in its policy", func(_ *federation.Template, p *federation.Policy) {
			p.Spec.Placement.ClusterAffinity, p.Spec.Placement.ClusterAffinities = nil, nil
		}})
	}
	if len(placement.SpreadConstraints) > 0 {
		changes = append(changes, change{"no spread constraints in its policy", func(_ *federation.Template, p *federation.Policy) { p.Spec.Placement.SpreadConstraints = nil }})
	}
	return changes
}

// findFewerReplicas finds the largest number of replicas with which Karmada accepts the workload; nil if it does not even accept one.
func (r *refusedWorkload) findFewerReplicas(ctx context.Context) (*Taking, error) {
	now := r.binding.Template.Replicas
	try := func(replicas int32) (*Taking, error) {
		words := fmt.Sprintf("at most %d replicas (now %d)", replicas, now)
		if replicas == 1 {
			words = fmt.Sprintf("a single replica (now %d)", now)
		}
		targets, err := r.tryChange(ctx, change{words, func(t *federation.Template, _ *federation.Policy) { t.Replicas = replicas }})
		if targets == nil || err != nil {
			return nil, err
		}
		return &Taking{words, targets}, nil
	}
	if !r.binding.Template.Workload || now < 2 {
		return nil, nil
	}
	most, err := try(1)
	if most == nil || err != nil {
		return nil, err
	}
	fits, fails := int32(1), now
	for fails-fits > 1 {
		middle := (fits + fails) / 2
		taking, err := try(middle)
		if err != nil {
			return nil, err
		}
		if taking != nil {
			fits, most = middle, taking
		} else {
			fails = middle
		}
	}
	return most, nil
}
