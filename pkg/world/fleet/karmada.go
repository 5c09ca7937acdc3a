package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/world"
)

// runKarmada lets Karmada's scheduler work through its queue once, and applies the results to the members. It returns the same federation if
// nothing has changed. Karmada retries bindings for which clusters lack room after a while, so they are in every queue. Bindings that fit
// no cluster wait for a change that concerns them.
func (f *Fleet) runKarmada(ctx context.Context, fed *cluster.Federation, to *world.Record) (*cluster.Federation, error) {
	control := *fed.Control
	var queue []*federation.Binding
	for _, key := range control.Queue {
		if i := slices.IndexFunc(control.Bindings, func(b *federation.Binding) bool { return b.Template.Key() == key }); i >= 0 {
			queue = append(queue, control.Bindings[i])
		}
	}
	for _, b := range control.Bindings {
		if (b.Reason == federation.ReasonUnschedulable || b.Reason == federation.ReasonSchedulerError) && !slices.Contains(queue, b) {
			queue = append(queue, b)
		}
	}
	if len(queue) == 0 {
		return f.syncMembers(fed, to)
	}
	clusters, estimate := f.newEstimator(ctx, fed)
	scheduler := &federation.Scheduler{Clusters: clusters, Gates: control.Options.Gates, Estimate: estimate.roomFor}
	bindings := scheduler.Run(control.Bindings, queue)
	if estimate.err != nil {
		return nil, estimate.err
	}
	if len(control.Queue) == 0 && sameDecisions(control.Bindings, bindings) {
		return f.syncMembers(fed, to)
	}
	control.Bindings, control.Queue = bindings, nil
	return f.syncMembers(fed.WithControl(&control), to)
}

// sameDecisions reports whether the scheduler has changed no target and no message.
func sameDecisions(before, after []*federation.Binding) bool {
	for i := range before {
		if !slices.Equal(before[i].Targets, after[i].Targets) || before[i].Message != after[i].Message {
			return false
		}
	}
	return true
}

// syncMembers creates, changes and deletes objects in the members as their bindings demand, and appends the notes of their API servers to the
// record. It does not reach lost clusters.
func (f *Fleet) syncMembers(fed *cluster.Federation, to *world.Record) (*cluster.Federation, error) {
	next, bindings := fed, bindingsToSync(fed.Control)
	copies := list.Map(bindings, (*federation.Binding).Copies)
	templates := list.IndexBy(fed.Control.Templates, func(t *cluster.ResourceTemplate) federation.Key { return t.Key() })
	for _, m := range fed.Members {
		if m.Lost {
			continue
		}
		works := map[federation.Key]cluster.Work{}
		state, changes := m.State, false
		for i, b := range bindings {
			at := slices.IndexFunc(copies[i], func(t federation.Target) bool { return t.Cluster == m.Name })
			if at < 0 {
				continue
			}
			key := b.Template.Key()
			work := cluster.Work{Template: b.Template, Cluster: fed.Control.Cluster(m.Name), Overrides: fed.Control.Overrides, Replicas: copies[i][at].Replicas}
			if had, found := m.Works[key]; found && had.Same(work) {
				works[key] = had
				continue
			}
			objects, err := workObjects(templates[key], b, work, copies[i])
			if err != nil {
				return nil, &world.InputError{Err: err}
			}
			work.Objects = objects
			works[key], changes = work, true
			var notes []string
			if state, notes, err = admission.Admit(state, objects...); err != nil {
				return nil, fmt.Errorf("cluster %s: %w", m.Name, err)
			}
			appendNotes(to, &m, notes)
		}
		if gone := droppedObjects(m.Works, works); len(gone) > 0 {
			state, changes = admission.Delete(state, gone...), true
		}
		if changes {
			next = next.With(m.WithWorks(state, works))
		}
	}
	return next, nil
}

// bindingsToSync returns the bindings that put objects into members. Namespaces come first: Karmada syncs them to every cluster, whatever policies
// say.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/namespace/namespace_sync_controller.go
func bindingsToSync(c *cluster.Control) []*federation.Binding {
	everywhere := make([]federation.Target, len(c.Clusters))
	for i, cl := range c.Clusters {
		everywhere[i].Cluster = cl.Name
	}
	var all []*federation.Binding
	for _, t := range c.Templates {
		if isSyncedNamespace(t.Template) {
			all = append(all, &federation.Binding{Template: t.Template, Placement: &federation.Placement{}, Targets: everywhere})
		}
	}
	for _, b := range c.Bindings {
		if !isSyncedNamespace(b.Template) {
			all = append(all, b)
		}
	}
	return all
}

// isSyncedNamespace reports whether the template is a namespace that Karmada syncs to every cluster. It does not sync default and system namespaces,
// which every cluster has.
func isSyncedNamespace(t *federation.Template) bool {
	return t.Kind == "Namespace" && t.Name != v1.NamespaceDefault && !strings.HasPrefix(t.Name, "kube-") && !strings.HasPrefix(t.Name, "karmada-") &&
		!strings.EqualFold(t.Labels["namespace.karmada.io/skip-auto-propagation"], "true")
}

// droppedObjects returns the objects of works that are in no later work, by kind, namespace and name.
func droppedObjects(works, later map[federation.Key]cluster.Work) []cluster.Object {
	kept := map[cluster.Ref]bool{}
	for _, work := range later {
		for _, obj := range work.Objects {
			kept[cluster.RefTo(obj)] = true
		}
	}
	var gone []cluster.Object
	for _, work := range works {
		for _, obj := range work.Objects {
			if !kept[cluster.RefTo(obj)] {
				gone = append(gone, obj)
			}
		}
	}
	slices.SortFunc(gone, func(a, b cluster.Object) int {
		x, y := cluster.RefTo(a), cluster.RefTo(b)
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return gone
}

// workObjects returns the objects that a cluster gets for a template: with the cluster's replicas, then with the overrides.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/binding/common.go
func workObjects(t *cluster.ResourceTemplate, b *federation.Binding, work cluster.Work, copies []federation.Target) ([]cluster.Object, error) {
	var objects []cluster.Object
	for _, obj := range t.Objects {
		obj = obj.DeepCopyObject().(cluster.Object)
		if b.Template.Workload && len(t.Objects) == 1 { // Karmada has no way to revise the replicas of a resource such as a FlinkDeployment
			reviseReplicas(obj, b, work, copies)
		}
		objects = append(objects, obj)
	}
	if len(work.Overrides) == 0 || len(objects) != 1 || b.Template.Kind != cluster.KindOf(objects[0]) {
		return objects, nil
	}
	obj := objects[0]
	obj.GetObjectKind().SetGroupVersionKind(admission.KindNamed(b.Template.Kind).GroupVersion().WithKind(b.Template.Kind))
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	overridden, err := federation.Overridden(b.Template, data, work.Cluster, work.Overrides)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Template, err)
	}
	if bytes.Equal(data, overridden) {
		return objects, nil
	}
	decoded, err := manifest.DecodeObject(fmt.Sprintf("%s as overridden for cluster %s", b.Template, work.Cluster.Name), overridden)
	if err != nil {
		return nil, err
	}
	return []cluster.Object{decoded.Object}, nil
}

// reviseReplicas sets the object's replicas to those of the cluster. If a Job is divided among clusters, its completions are divided in proportion
// to the replicas.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/resourceinterpreter/default/native/revisereplica.go
func reviseReplicas(obj cluster.Object, b *federation.Binding, work cluster.Work, copies []federation.Target) {
	replicas := work.Replicas
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &replicas
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = &replicas
	case *appsv1.StatefulSet:
		o.Spec.Replicas = &replicas
	case *batchv1.Job:
		o.Spec.Parallelism = &replicas
		if o.Spec.Completions != nil && b.Divided() {
			completions := federation.DivideCompletions(*o.Spec.Completions, copies)[work.Cluster.Name]
			o.Spec.Completions = &completions
		}
	}
}

// newEstimator returns the clusters with the resources that Karmada sees in them now, and an estimator of the room in them.
func (f *Fleet) newEstimator(ctx context.Context, fed *cluster.Federation) ([]*federation.Cluster, *estimator) {
	e := &estimator{ctx: ctx, fleet: f, fed: fed}
	var clusters []*federation.Cluster
	for _, cl := range fed.Control.Clusters {
		seen := *cl
		if m := fed.Member(cl.Name); !m.Lost {
			seen.Status.ResourceSummary = summarizeResources(m.State)
		}
		clusters = append(clusters, &seen)
	}
	return clusters, e
}

// summarizeResources sums a cluster's resources as Karmada does.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/status/cluster_status_controller.go, getResourceSummary
func summarizeResources(state *cluster.State) *federation.ResourceSummary {
	allocatable, allocated, allocating := v1.ResourceList{}, federation.Resources{}, federation.Resources{}
	for _, node := range state.Nodes {
		for name, quantity := range node.Status.Allocatable {
			sum := allocatable[name]
			sum.Add(quantity)
			allocatable[name] = sum
		}
	}
	for _, pod := range state.Pods {
		to := allocated
		switch {
		case pod.Spec.NodeName == "":
			to = allocating
		case cluster.IsTerminal(pod):
			continue
		}
		to.AddPod(&pod.Spec)
		to[v1.ResourcePods]++
	}
	return &federation.ResourceSummary{Allocatable: allocatable, Allocated: allocated.List(), Allocating: allocating.List()}
}

// estimator estimates how many replicas fit into clusters.
type estimator struct {
	ctx   context.Context
	fleet *Fleet
	fed   *cluster.Federation
	err   error // the first error
}

// roomFor returns how many more replicas of the binding fit into the cluster. It uses Karmada's arithmetic or, if the scenario asks for it, the
// cluster's own scheduler, which tries as many replicas as the binding has.
func (e *estimator) roomFor(b *federation.Binding, cl *federation.Cluster) int32 {
	if !e.fed.Control.Options.AskMembers || e.err != nil {
		return federation.GeneralEstimate(b, cl)
	}
	room, err := e.roomByScheduler(b, cl)
	if err != nil {
		e.err = fmt.Errorf("estimating the room for %s in cluster %s: %w", b.Template, cl.Name, err)
	}
	return room
}

// roomByScheduler lets a copy of the cluster's scheduler place the replicas, and counts those that run. The result of that run is thrown away.
func (e *estimator) roomByScheduler(b *federation.Binding, cl *federation.Cluster) (int32, error) {
	m := e.fed.Member(cl.Name)
	if m.Lost {
		return 0, nil
	}
	f := e.fleet
	if f.probe == nil {
		var err error
		if f.probe, err = world.NewCluster(f.config, f.ties); err != nil {
			return 0, err
		}
	}
	i := slices.IndexFunc(e.fed.Control.Templates, func(t *cluster.ResourceTemplate) bool { return t.Key() == b.Template.Key() })
	had, _ := b.On(cl.Name)
	work := cluster.Work{Template: b.Template, Cluster: cl, Overrides: e.fed.Control.Overrides, Replicas: had + b.Template.Replicas}
	objects, err := workObjects(e.fed.Control.Templates[i], b, work, []federation.Target{{Cluster: cl.Name, Replicas: work.Replicas}})
	if err != nil {
		return 0, err
	}
	state, _, err := admission.Admit(m.State, objects...)
	if err != nil {
		return 0, err
	}
	if err := f.probe.ResetTo(f.ties); err != nil {
		return 0, err
	}
	settled, err := f.probe.Settle(e.ctx, state, &world.Record{})
	if err != nil {
		return 0, err
	}
	return max(0, int32(len(runningPods(settled, objects)))-had), nil
}

// runningPods returns the pods of the objects that are on nodes that answer.
func runningPods(state *cluster.State, of []cluster.Object) []*v1.Pod {
	owner, nodes := state.Owners(), state.NodesByName()
	owners := list.KeySet(of, cluster.RefTo)
	var pods []*v1.Pod
	for _, pod := range state.Pods {
		if on := nodes[pod.Spec.NodeName]; on != nil && cluster.KubeletResponds(on) && cluster.IsActive(pod) && owners[owner(pod)] {
			pods = append(pods, pod)
		}
	}
	return pods
}
