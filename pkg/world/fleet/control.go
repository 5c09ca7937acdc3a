package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// What users do to a federation, they do to Karmada's control plane. It holds their resources as templates, the policies that claim the
// templates, and the bindings of templates to policies.

// applyToControl returns the control plane with the given objects applied to it. New and changed bindings wait in the queue of Karmada's
// scheduler.
func applyToControl(c *cluster.Control, given scenario.Karmada, objects []cluster.Object) *cluster.Control {
	next := *c
	next.Policies = slices.Clone(c.Policies)
	for _, p := range given.Policies {
		next.Policies = replaceOrAppend(next.Policies, p, func(q *federation.Policy) bool { return q.String() == p.String() })
	}
	next.Overrides = slices.Clone(c.Overrides)
	for _, o := range given.Overrides {
		next.Overrides = replaceOrAppend(next.Overrides, o, func(q *federation.Override) bool { return q.String() == o.String() })
	}
	next.Templates = slices.Clone(c.Templates)
	add := func(t *cluster.ResourceTemplate) {
		if i := slices.IndexFunc(c.Templates, func(other *cluster.ResourceTemplate) bool { return other.Key() == t.Key() }); i >= 0 && t.UID == "" {
			is := *t.Template
			is.UID = c.Templates[i].UID // applying an object that exists keeps its UID
			t = &cluster.ResourceTemplate{Template: &is, Objects: t.Objects}
		}
		next.Templates = replaceOrAppend(next.Templates, t, func(other *cluster.ResourceTemplate) bool { return other.Key() == t.Key() })
	}
	for _, obj := range objects {
		add(templateOf(obj))
	}
	for i := range given.Resources {
		add(&given.Resources[i])
	}
	return bindTemplates(&next)
}

// replaceOrAppend replaces the first item of the list for which same holds, or appends the item.
func replaceOrAppend[T any](list []T, item T, same func(T) bool) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = item
		return list
	}
	return append(list, item)
}

// bindTemplates returns the control plane with a binding for each template that a policy claims. New and changed bindings are queued.
func bindTemplates(c *cluster.Control) *cluster.Control {
	before := list.IndexBy(c.Bindings, func(b *federation.Binding) federation.Key { return b.Template.Key() })
	next := *c
	next.Bindings = nil
	for _, t := range c.Templates {
		was, claimed := before[t.Key()], ""
		if was != nil {
			claimed = was.Policy
		}
		policy := federation.Claim(t.Template, c.Policies, claimed)
		value, known := policyPriority(c, policy)
		switch {
		case was == nil && (policy == nil || !known): // the detector tries again once a policy claims the template and its PriorityClass exists
		case policy == nil || !known || was != nil && was.IsCurrent(t.Template, policy): // without its policy nobody schedules the binding
			next.Bindings = append(next.Bindings, was)
		default:
			b := federation.Bind(t.Template, policy)
			if was != nil {
				b = was.Rebind(t.Template, policy)
			}
			b.Priority = value
			next.Bindings = append(next.Bindings, b)
			next.Queue = replaceOrAppend(slices.Clip(next.Queue), t.Key(), func(k federation.Key) bool { return k == t.Key() })
		}
	}
	return &next
}

// policyPriority returns the value of the PriorityClass that the policy names, and whether the control plane has that class.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/detector/detector.go, BuildResourceBinding
func policyPriority(c *cluster.Control, p *federation.Policy) (value int32, known bool) {
	if p == nil || p.Spec.SchedulePriority == nil {
		return 0, true
	}
	classes := schedulingapi.SystemPriorityClasses()
	for _, t := range c.Templates {
		for _, obj := range t.Objects {
			if class, is := obj.(*schedulingv1.PriorityClass); is {
				classes = append(classes, class)
			}
		}
	}
	for _, class := range classes {
		if class.Name == p.Spec.SchedulePriority.PriorityClassName {
			return class.Value, true
		}
	}
	return 0, false
}

// missingPriorityNotes returns a note for each policy whose PriorityClass the control plane does not have.
func missingPriorityNotes(c *cluster.Control) []string {
	var notes []string
	for _, p := range c.Policies {
		if _, known := policyPriority(c, p); !known {
			notes = append(notes, fmt.Sprintf("%s names PriorityClass %s, which Karmada's control plane does not have: what it selects is not scheduled.", p, p.Spec.SchedulePriority.PriorityClassName))
		}
	}
	return notes
}

// templateOf returns the template of an object of Kubernetes' own kinds.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/resourceinterpreter/default/native/replica.go
func templateOf(obj cluster.Object) *cluster.ResourceTemplate {
	t := &federation.Template{
		APIVersion: admission.KindNamed(cluster.KindOf(obj)).GroupVersion().String(), Kind: cluster.KindOf(obj),
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(admission.GivenUID(obj)), Labels: obj.GetLabels(),
	}
	var replicas *int32
	switch o := obj.(type) {
	case *appsv1.Deployment:
		replicas = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		replicas = o.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = o.Spec.Replicas
	case *batchv1.Job:
		parallel := ptr.Deref(o.Spec.Parallelism, 1)
		replicas = ptr.To(min(parallel, ptr.Deref(o.Spec.Completions, parallel)))
	case *v1.Pod:
		replicas = ptr.To[int32](1)
	default:
		return &cluster.ResourceTemplate{Template: t, Objects: []cluster.Object{obj}}
	}
	spec, _ := cluster.PodSpec(obj)
	t.SetReplicas(ptr.Deref(replicas, 1), spec)
	return &cluster.ResourceTemplate{Template: t, Objects: []cluster.Object{obj}}
}

// requeueBindings returns the control plane with all bindings queued that the cluster concerns.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/event_handler.go, enqueueAffectedBindings
func requeueBindings(c *cluster.Control, cl *federation.Cluster) *cluster.Control {
	next := *c
	next.Queue = slices.Clip(c.Queue)
	for _, b := range c.Bindings {
		if key := b.Template.Key(); b.Concerns(cl) && !slices.Contains(next.Queue, key) {
			next.Queue = append(next.Queue, key)
		}
	}
	return &next
}

// changeCluster returns the control plane with a cluster changed from was to is. Bindings that either concerns are queued.
func changeCluster(c *cluster.Control, was, is *federation.Cluster) *cluster.Control {
	next := *c
	next.Clusters = slices.Clone(c.Clusters)
	next.Clusters[slices.Index(next.Clusters, was)] = is
	return requeueBindings(requeueBindings(&next, was), is)
}

// findTemplate returns the template that the target names. The error is a [world.Problem] at path.
func findTemplate(c *cluster.Control, path *field.Path, target scenario.Target, kinds ...string) (*cluster.ResourceTemplate, error) {
	wanted, err := target.RefOfKind(kinds...)
	if err != nil {
		return nil, &world.Problem{Field: path, Err: err}
	}
	for _, t := range c.Templates {
		if wanted == (cluster.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}) {
			return t, nil
		}
	}
	return nil, &world.Problem{Field: path, Err: &world.MissingError{Ref: wanted, Argument: target.Argument()}}
}

// StoredState returns the objects that the API server of Karmada has, with three additions from the members that templates may name: nodes,
// namespaces and priority classes.
func StoredState(state *cluster.State) *cluster.State {
	stored := *state.Federation.Control.Stored
	stored.Nodes = state.Nodes
	known := list.KeySet(stored.Objects(), cluster.RefTo)
	var more []cluster.Object
	for _, obj := range state.Objects() {
		if kind := cluster.KindOf(obj); (kind == "Namespace" || kind == "PriorityClass") && !known[cluster.RefTo(obj)] {
			more = append(more, obj)
		}
	}
	return stored.With(more...)
}

// storeObjects admits the objects to the API server of Karmada, and returns the federation that has them. It has them even if the server refuses
// them.
func storeObjects(state *cluster.State, fed *cluster.Federation, path *field.Path, objects ...cluster.Object) (*cluster.Federation, error) {
	before := StoredState(state)
	next, _, err := admission.Admit(before, objects...)
	if err != nil {
		next, err = before.With(objects...), &world.Problem{Field: path, Err: err}
	}
	control := *fed.Control
	control.Stored = next
	return fed.WithControl(&control), err
}

// apply applies objects to Karmada's control plane. It also checks that the members accept the objects that operators make of custom
// resources.
func (f *Fleet) apply(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *world.Record) (*cluster.Federation, string, error) {
	path := field.NewPath("apply")
	var problems []error
	objects := list.Without(step.Objects, func(obj cluster.Object) bool {
		_, is := obj.(*v1.Node)
		if is {
			err := fmt.Errorf("%s is not what Karmada propagates; give it under clusters, or let its cluster join", cluster.RefTo(obj).Describe())
			problems = append(problems, &world.Problem{Field: path, Err: err})
		}
		return is
	})
	next, err := storeObjects(state, state.Federation.WithControl(applyToControl(state.Federation.Control, step.Karmada, objects)), path, objects...)
	problems = append(problems, err)
	for i := range step.Karmada.Resources {
		if _, _, err := admission.Admit(next.Control.Stored, step.Karmada.Resources[i].Objects...); err != nil {
			problems = append(problems, &world.Problem{Field: path, Err: err})
		}
	}
	return next, world.DescribeApply(step), errors.Join(problems...)
}

// editAction returns the action that changes a template in the control plane, or a cluster if a patch names one.
func editAction(of func(*scenario.LoadedStep, metav1.Time) world.Edit) action {
	return func(_ *Fleet, _ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *world.Record) (*cluster.Federation, string, error) {
		fed, edit := state.Federation, of(step, state.Now)
		if kind, name, karmada := scenario.ParseKarmada(edit.Target.Target); karmada && kind == federation.KindCluster {
			was := fed.Control.Cluster(name)
			if was == nil {
				return fed, "", &world.Problem{Field: edit.TargetField(), Err: world.MissingCluster(fed, name)}
			}
			is, err := step.Patch.ApplyToCluster(was)
			if err != nil {
				return fed, "", &world.Problem{Field: edit.Field, Err: err}
			}
			return fed.WithControl(changeCluster(fed.Control, was, is)), edit.Action, nil
		}
		t, err := findTemplate(fed.Control, edit.TargetField(), edit.Target, edit.Kinds...)
		if err != nil {
			return fed, "", err
		}
		obj, err := edit.Apply(t.Objects[0])
		if err != nil {
			return fed, "", err
		}
		next, err := storeObjects(state, fed.WithControl(applyToControl(fed.Control, scenario.Karmada{}, []cluster.Object{obj})), edit.Field, obj)
		return next, edit.Action, err
	}
}

// delete removes templates, policies, overrides and clusters. The binding of a deleted template goes, too, and so does everything in a
// deleted cluster. Workloads that a deleted policy claimed stay where they are.
func (f *Fleet) delete(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, _ *world.Record) (*cluster.Federation, string, error) {
	fed, next := state.Federation, *state.Federation.Control
	next.Stored = admission.Delete(next.Stored, step.Objects...)
	var problems []error
	var deleted []string
	if len(step.Delete.Files) > 0 {
		deleted = append(deleted, "-f "+strings.Join(step.Delete.Files, " -f "))
	}
	drop := func(key federation.Key) {
		next.Templates = list.Without(next.Templates, func(t *cluster.ResourceTemplate) bool { return t.Key() == key })
		next.Bindings = list.Without(next.Bindings, func(b *federation.Binding) bool { return b.Template.Key() == key })
		next.Queue = list.Without(next.Queue, func(k federation.Key) bool { return k == key })
	}
	for _, obj := range step.Objects {
		drop(templateOf(obj).Key())
	}
	for _, t := range step.Karmada.Resources {
		drop(t.Key())
	}
	for _, p := range step.Karmada.Policies {
		next.Policies = list.Without(next.Policies, func(q *federation.Policy) bool { return q.String() == p.String() })
	}
	for _, o := range step.Karmada.Overrides {
		next.Overrides = list.Without(next.Overrides, func(q *federation.Override) bool { return q.String() == o.String() })
	}
	for i := 0; i < len(step.Delete.Targets) && ctx.Err() == nil; i++ {
		name, path := step.Delete.Targets[i], field.NewPath("delete", "targets").Index(i)
		deleted = append(deleted, name)
		if kind, cl, karmada := scenario.ParseKarmada(name); karmada && kind == federation.KindCluster {
			without, err := removeCluster(fed, &next, cl)
			if err != nil {
				problems = append(problems, &world.Problem{Field: path, Err: err})
				continue
			}
			fed = without
			continue
		}
		if _, _, err := scenario.ParseTarget(name); err != nil {
			continue // a policy or a custom resource: loading has put it among the step's objects
		}
		t, err := findTemplate(&next, path, scenario.Target{Target: name, Namespace: step.Delete.Namespace})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		drop(t.Key())
		next.Stored = admission.Delete(next.Stored, t.Objects...)
	}
	return fed.WithControl(bindTemplates(&next)), "delete " + strings.Join(deleted, " "), errors.Join(problems...)
}

// removeCluster returns the federation without the cluster, and removes the cluster from the control plane c. The bindings that had the
// cluster are queued.
func removeCluster(fed *cluster.Federation, c *cluster.Control, name string) (*cluster.Federation, error) {
	cl := c.Cluster(name)
	switch {
	case cl == nil:
		return nil, world.MissingCluster(fed, name)
	case len(fed.Members) == 1:
		return nil, fmt.Errorf("cluster %q is the last one by then, and a federation needs one; let another join before, or leave this out", name)
	}
	*c = *requeueBindings(c, cl)
	c.Clusters = list.Without(c.Clusters, func(other *federation.Cluster) bool { return other == cl })
	c.Bindings = slices.Clone(c.Bindings)
	for i, b := range c.Bindings {
		c.Bindings[i] = b.Without(name)
	}
	next := *fed
	next.Members = list.Without(fed.Members, func(m cluster.Member) bool { return m.Name == name })
	return &next, nil
}
