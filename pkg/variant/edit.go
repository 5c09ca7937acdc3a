// Package variant derives other scenarios from one: what it would be, had something been otherwise from the start. What changes is copied,
// and the rest is shared, so that the scenario itself stays as it is.
package variant

import (
	"cmp"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// change returns an object as it would be: a copy, or the object itself where nothing changes.
type change func(cluster.Object) cluster.Object

// Edit returns the scenario as it would be had the pods of the owner always had another spec. The function changes a pod's spec in
// place. It is given a copy of every one that the scenario holds: the template of the owner in the cluster and in each step that
// applies or patches it; those of the ReplicaSets, Jobs and ControllerRevisions that it controls, as dumps have them; and those of
// its pods, bound ones included. It may be given a spec that it has changed already.
func Edit(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) *scenario.Scenario {
	f := editPods(s, owner, edit)
	return changeAll(s, f, f.ofPatched)
}

// Change returns the scenario with a change of the pods of the owner: by a rollout if they run (see Rolled), or as Edit does.
func Change(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) *scenario.Scenario {
	if !Rolled(s, owner) {
		return Edit(s, owner, edit)
	}
	f := editPods(s, owner, edit).ofOwner(owner)
	next := changeAll(s, f, f.ofPatched)
	next.RolledOut = with(s.RolledOut, owner)
	return next
}

func editPods(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) change {
	owned := ownedBy(s, owner)
	return func(obj cluster.Object) cluster.Object {
		if !owned(obj) {
			return obj
		}
		edited := obj.DeepCopyObject().(cluster.Object)
		if revision, ok := edited.(*appsv1.ControllerRevision); ok {
			editRevision(revision, edit)
		} else if spec, _ := cluster.PodSpec(edited); spec != nil {
			edit(spec)
		}
		return edited
	}
}

// changeAll returns the scenario with a change to every object that it holds, and to whatever its patches make of one.
func changeAll(s *scenario.Scenario, f change, patched func(cluster.Object) (cluster.Object, error)) *scenario.Scenario {
	next := *s
	next.Cluster, next.Workloads = f.each(s.Cluster), f.each(s.Workloads)
	next.Members = changeMembers(s.Members, f.each)
	next.Karmada.Resources = f.eachMade(s.Karmada.Resources)
	next.Steps = slices.Clone(s.Steps)
	for i := range next.Steps {
		step := &next.Steps[i]
		step.Objects = f.each(step.Objects)
		step.Karmada.Resources = f.eachMade(step.Karmada.Resources)
		if step.Patch != nil {
			step.Edits = append(slices.Clip(step.Edits), &scenario.PatchEdit{Edit: patched})
		}
	}
	return &next
}

// each returns the objects, each changed.
func (f change) each(objects []cluster.Object) []cluster.Object {
	return list.Each(objects, func(obj cluster.Object) cluster.Object { return f(obj) })
}

// eachMade returns the custom resources of a federation, with each object changed that is made of them.
func (f change) eachMade(resources []cluster.ResourceTemplate) []cluster.ResourceTemplate {
	all := slices.Clone(resources)
	for i := range all {
		all[i].Objects = f.each(all[i].Objects)
	}
	return all
}

// changeMembers returns the clusters of a federation after a change of their objects. A cluster without a change is the same.
func changeMembers(members []scenario.Member, of func([]cluster.Object) []cluster.Object) []scenario.Member {
	all := slices.Clone(members)
	for i, m := range all {
		if objects := of(m.Objects); !slices.Equal(objects, m.Objects) {
			all[i] = scenario.NewMember(m.Cluster, objects)
		}
	}
	return all
}

// ofPatched is the change of an object that a step has patched, which always fits.
func (f change) ofPatched(obj cluster.Object) (cluster.Object, error) { return f(obj), nil }

// ofOwner returns the change to the owner alone, whose controller then rolls it out to the pods that run.
func (f change) ofOwner(owner cluster.Ref) change {
	return func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != owner {
			return obj
		}
		return updated(obj, f(obj))
	}
}

// updated raises the generation of a workload whose template has changed, as the API server does: the pods that run are not of this one.
func updated(was, is cluster.Object) cluster.Object {
	before, _ := cluster.Template(was)
	after, _ := cluster.Template(is)
	if is != was && !equality.Semantic.DeepEqual(before, after) {
		is.SetGeneration(was.GetGeneration() + 1)
	}
	return is
}

// Rolled reports whether a change of the owner's pods is a rollout: pods of it run, it is of a kind that is rolled out, and the scenario does
// not say that all pods are placed anew. A workload that no pod runs of yet has the change from the start.
func Rolled(s *scenario.Scenario, owner cluster.Ref) bool {
	return !s.PlaceAnew && !s.Federated() && slices.Contains(scenario.Rolled, owner.Kind) && runs(s, owner)
}

// runs reports whether pods of the owner are on nodes where the scenario begins, or are applied there.
func runs(s *scenario.Scenario, owner cluster.Ref) bool {
	owned := ownedBy(s, owner)
	return slices.ContainsFunc(s.Objects(), func(obj cluster.Object) bool {
		pod, ok := obj.(*v1.Pod)
		return ok && pod.Spec.NodeName != "" && !cluster.Terminal(pod) && owned(pod)
	})
}

// begin prepares the scenario for a change of the owner's pods, and reports whether it is a rollout. If it is none, the pods that run are
// gone, to be placed anew. The scenario remembers which it was.
func begin(s *scenario.Scenario, owner cluster.Ref) (*scenario.Scenario, bool) {
	next := *s
	switch {
	case Rolled(s, owner):
		next.RolledOut = with(s.RolledOut, owner)
		return &next, true
	case runs(s, owner):
		next.PlacedAnew = with(s.PlacedAnew, owner)
	}
	return Unplace(&next, owner), false
}

func with(owners []cluster.Ref, owner cluster.Ref) []cluster.Ref {
	if slices.Contains(owners, owner) {
		return owners
	}
	return append(slices.Clip(owners), owner)
}

// Unplace returns the scenario without the pods of the owner that it has on nodes, and without the ReplicaSets, Jobs and
// ControllerRevisions that it controls, so that all of its pods are made and placed anew.
func Unplace(s *scenario.Scenario, owner cluster.Ref) *scenario.Scenario {
	owned := ownedBy(s, owner)
	without := func(objects []cluster.Object) []cluster.Object {
		return list.Without(objects, func(obj cluster.Object) bool { return owned(obj) && cluster.RefTo(obj) != owner })
	}
	next := *s
	next.Cluster, next.Members = without(s.Cluster), changeMembers(s.Members, without)
	next.Workloads, next.Steps = without(s.Workloads), slices.Clone(s.Steps)
	for i := range next.Steps {
		if next.Steps[i].Apply != nil {
			next.Steps[i].Objects = without(next.Steps[i].Objects)
		}
	}
	return &next
}

// Scale returns the scenario with so many replicas of the owner, a Deployment, ReplicaSet, StatefulSet or ReplicationController, at the named step:
// what sets the number last by then sets this one. Earlier steps have the replicas that they had.
func Scale(s *scenario.Scenario, owner cluster.Ref, step string, replicas int32) *scenario.Scenario {
	f := setReplicas(owner, replicas)
	return scale(s, owner, step, replicas, f, f)
}

func setReplicas(owner cluster.Ref, replicas int32) change {
	return func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != owner || cluster.ReplicasOf(obj) == nil {
			return obj
		}
		scaled := obj.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &replicas
		return scaled
	}
}

// scale is ScaleTo with one change for the objects that the scenario holds, and one for the objects that its patches make.
func scale(s *scenario.Scenario, owner cluster.Ref, step string, replicas int32, held, patched change) *scenario.Scenario {
	sets := func(objects []cluster.Object) bool { return cluster.Find(objects, owner) != nil }
	next := *s
	next.Steps = slices.Clone(s.Steps)
	for i := s.Index(step); i >= 0; i-- {
		step := &next.Steps[i]
		switch {
		case step.Scale != nil && isTarget(step.Scale.Target, owner):
			scale := *step.Scale
			scale.Replicas = replicas
			step.Scale = &scale
			return &next
		case step.Apply != nil && sets(step.Objects):
			step.Objects = held.each(step.Objects)
			return &next
		case step.Patch != nil && isTarget(step.Patch.Target, owner):
			// The patch may set the number, or leave it to what was before.
			step.Edits = append(slices.Clip(step.Edits), &scenario.PatchEdit{Edit: patched.ofPatched})
		}
	}
	if sets(s.Workloads) {
		next.Workloads = held.each(s.Workloads)
	} else {
		next.Cluster, next.Members = held.each(s.Cluster), changeMembers(s.Members, held.each)
		next.Karmada.Resources = held.eachMade(s.Karmada.Resources)
	}
	return &next
}

// ownedBy returns a function that reports whether an object is the owner or, directly or not, controlled by it.
func ownedBy(s *scenario.Scenario, owner cluster.Ref) func(cluster.Object) bool {
	controlledBy := func(obj cluster.Object, above cluster.Ref) bool {
		ref := metav1.GetControllerOfNoCopy(obj)
		return ref != nil && cluster.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name} == above
	}
	between := map[cluster.Ref]bool{} // ReplicaSets and Jobs
	objects := s.Objects()
	for _, m := range s.Members {
		objects = append(objects, m.Objects...)
	}
	for _, obj := range objects {
		if controlledBy(obj, owner) {
			between[cluster.RefTo(obj)] = true
		}
	}
	return func(obj cluster.Object) bool {
		if cluster.RefTo(obj) == owner || controlledBy(obj, owner) {
			return true
		}
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil {
			return false
		}
		// A dump may lack the ReplicaSets between Deployments and pods; their names follow from the pods' labels.
		hash := obj.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
		return between[cluster.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}] ||
			owner.Kind == "Deployment" && ref.Kind == "ReplicaSet" && obj.GetNamespace() == owner.Namespace && hash != "" && ref.Name == owner.Name+"-"+hash
	}
}

func isTarget(target scenario.Target, owner cluster.Ref) bool {
	wanted, err := scenario.ParseWorkload(target.Target)
	wanted.Namespace = cmp.Or(target.Namespace, v1.NamespaceDefault)
	return err == nil && scenario.IsWorkload(owner, wanted)
}

// editRevision changes the pod's spec in the template that the ControllerRevision of a StatefulSet or a DaemonSet holds.
func editRevision(revision *appsv1.ControllerRevision, edit func(*v1.PodSpec)) {
	var data struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return // which is an error when the revision is admitted
	}
	edit(&data.Spec.Template.Spec)
	if raw, err := json.Marshal(data); err == nil {
		revision.Data = runtime.RawExtension{Raw: raw}
	}
}
