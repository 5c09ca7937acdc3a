// Package variant derives scenarios from one: the scenario as it would be if something had been different from the start. A derived
// scenario copies what changes and shares the rest, so the original scenario stays as it is.
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

// objectChange returns a changed copy of an object, or the object itself if nothing changes.
type objectChange func(cluster.Object) cluster.Object

// Edit returns the scenario as it would be if the pods of the owner had always had another spec. The function edits a pod's spec in place.
// It gets a copy of every such spec in the scenario: the template of the owner in the cluster, and in each step that applies or patches the
// owner; the templates of the ReplicaSets, Jobs and ControllerRevisions that the owner controls, as dumps have them; and the specs of its
// pods, bound ones included. It may get a spec that it has edited already.
func Edit(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) *scenario.Scenario {
	f := newPodEdit(s, owner, edit)
	return applyChange(s, f, f.changePatched)
}

// ChangePods returns the scenario with a change of the pods of the owner: by a rollout if they run (see [IsRolledOut]), or else as [Edit] does.
func ChangePods(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) *scenario.Scenario {
	if !IsRolledOut(s, owner) {
		return Edit(s, owner, edit)
	}
	f := newPodEdit(s, owner, edit).restrictTo(owner)
	next := applyChange(s, f, f.changePatched)
	next.RolledOut = appendOwner(s.RolledOut, owner)
	return next
}

// newPodEdit returns the change that edits the pod specs of the owner and of what it controls.
func newPodEdit(s *scenario.Scenario, owner cluster.Ref, edit func(*v1.PodSpec)) objectChange {
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

// applyChange returns the scenario with every object changed, and with a change of what its patches make of an object.
func applyChange(s *scenario.Scenario, f objectChange, patched func(cluster.Object) (cluster.Object, error)) *scenario.Scenario {
	next := *s
	next.Cluster, next.Workloads = f.changeObjects(s.Cluster), f.changeObjects(s.Workloads)
	next.Members = changeMembers(s.Members, f.changeObjects)
	next.Karmada.Resources = f.changeResources(s.Karmada.Resources)
	next.Steps = slices.Clone(s.Steps)
	for i := range next.Steps {
		step := &next.Steps[i]
		step.Objects = f.changeObjects(step.Objects)
		step.Karmada.Resources = f.changeResources(step.Karmada.Resources)
		if step.Patch != nil {
			step.Edits = append(slices.Clip(step.Edits), &scenario.PatchEdit{Edit: patched})
		}
	}
	return &next
}

// changeObjects returns the objects after the change.
func (f objectChange) changeObjects(objects []cluster.Object) []cluster.Object {
	return list.Map(objects, func(obj cluster.Object) cluster.Object { return f(obj) })
}

// changeResources returns the custom resources of a federation, with the objects that are made of them changed.
func (f objectChange) changeResources(resources []cluster.ResourceTemplate) []cluster.ResourceTemplate {
	all := slices.Clone(resources)
	for i := range all {
		all[i].Objects = f.changeObjects(all[i].Objects)
	}
	return all
}

// changeMembers returns the clusters of a federation with their objects changed. A cluster without a change stays the same.
func changeMembers(members []scenario.Member, of func([]cluster.Object) []cluster.Object) []scenario.Member {
	all := slices.Clone(members)
	for i, m := range all {
		if objects := of(m.Objects); !slices.Equal(objects, m.Objects) {
			all[i] = scenario.NewMember(m.Cluster, objects)
		}
	}
	return all
}

// changePatched changes an object that a step has patched. It never fails.
func (f objectChange) changePatched(obj cluster.Object) (cluster.Object, error) { return f(obj), nil }

// restrictTo returns the change restricted to the owner itself, whose controller then rolls the change out to running pods.
func (f objectChange) restrictTo(owner cluster.Ref) objectChange {
	return func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != owner {
			return obj
		}
		return raiseGeneration(obj, f(obj))
	}
}

// raiseGeneration raises the generation of a workload whose template has changed, as the API server does: running pods are not of the new
// generation.
func raiseGeneration(was, is cluster.Object) cluster.Object {
	before, _ := cluster.Template(was)
	after, _ := cluster.Template(is)
	if is != was && !equality.Semantic.DeepEqual(before, after) {
		is.SetGeneration(was.GetGeneration() + 1)
	}
	return is
}

// IsRolledOut reports whether a change of the owner's pods is a rollout: the owner has running pods and a kind that is rolled out, and the
// scenario does not place all pods anew. A workload without running pods has the change from the start.
func IsRolledOut(s *scenario.Scenario, owner cluster.Ref) bool {
	return !s.PlaceAnew && !s.Federated() && slices.Contains(scenario.RolloutKinds, owner.Kind) && hasRunningPods(s, owner)
}

// hasRunningPods reports whether pods of the owner are on nodes, in the cluster at the start or in what the scenario applies.
func hasRunningPods(s *scenario.Scenario, owner cluster.Ref) bool {
	owned := ownedBy(s, owner)
	return slices.ContainsFunc(s.Objects(), func(obj cluster.Object) bool {
		pod, ok := obj.(*v1.Pod)
		return ok && pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) && owned(pod)
	})
}

// beginChange prepares the scenario for a change of the owner's pods, and reports whether the change is a rollout. If it is not, begin removes
// the running pods, so that they are placed anew. The scenario records which of the two it was.
func beginChange(s *scenario.Scenario, owner cluster.Ref) (*scenario.Scenario, bool) {
	next := *s
	switch {
	case IsRolledOut(s, owner):
		next.RolledOut = appendOwner(s.RolledOut, owner)
		return &next, true
	case hasRunningPods(s, owner):
		next.PlacedAnew = appendOwner(s.PlacedAnew, owner)
	}
	return Unplace(&next, owner), false
}

// appendOwner returns the owners with one more, unless it is among them.
func appendOwner(owners []cluster.Ref, owner cluster.Ref) []cluster.Ref {
	if slices.Contains(owners, owner) {
		return owners
	}
	return append(slices.Clip(owners), owner)
}

// Unplace returns the scenario without the pods of the owner that are on nodes, and without the ReplicaSets, Jobs and ControllerRevisions
// that the owner controls, so that all of its pods are made and placed anew.
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

// Scale returns the scenario with that number of replicas of the owner, a Deployment, ReplicaSet, StatefulSet or ReplicationController, at
// the named step. It changes whatever sets the number last by then; before that, the replicas stay as they are.
func Scale(s *scenario.Scenario, owner cluster.Ref, step string, replicas int32) *scenario.Scenario {
	f := newReplicasChange(owner, replicas)
	return setScale(s, owner, step, replicas, f, f)
}

// newReplicasChange returns the change that sets the number of replicas of the owner.
func newReplicasChange(owner cluster.Ref, replicas int32) objectChange {
	return func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != owner || cluster.ReplicasOf(obj) == nil {
			return obj
		}
		scaled := obj.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &replicas
		return scaled
	}
}

// setScale does what [Scale] does, with one change for the objects that the scenario has, and one for the objects that its patches make.
func setScale(s *scenario.Scenario, owner cluster.Ref, step string, replicas int32, held, patched objectChange) *scenario.Scenario {
	sets := func(objects []cluster.Object) bool { return cluster.Find(objects, owner) != nil }
	next := *s
	next.Steps = slices.Clone(s.Steps)
	for i := s.StepIndex(step); i >= 0; i-- {
		step := &next.Steps[i]
		switch {
		case step.Scale != nil && isTarget(step.Scale.Target, owner):
			scale := *step.Scale
			scale.Replicas = replicas
			step.Scale = &scale
			return &next
		case step.Apply != nil && sets(step.Objects):
			step.Objects = held.changeObjects(step.Objects)
			return &next
		case step.Patch != nil && isTarget(step.Patch.Target, owner):
			// The patch may set the number, or leave the number that an earlier step has set.
			step.Edits = append(slices.Clip(step.Edits), &scenario.PatchEdit{Edit: patched.changePatched})
		}
	}
	if sets(s.Workloads) {
		next.Workloads = held.changeObjects(s.Workloads)
	} else {
		next.Cluster, next.Members = held.changeObjects(s.Cluster), changeMembers(s.Members, held.changeObjects)
		next.Karmada.Resources = held.changeResources(s.Karmada.Resources)
	}
	return &next
}

// ownedBy returns a function that reports whether an object is the owner, or is controlled by the owner directly or indirectly.
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

// isTarget reports whether the target names the owner.
func isTarget(target scenario.Target, owner cluster.Ref) bool {
	wanted, err := scenario.ParseWorkload(target.Target)
	wanted.Namespace = cmp.Or(target.Namespace, v1.NamespaceDefault)
	return err == nil && scenario.MatchesName(owner, wanted)
}

// editRevision edits the pod spec in the template of the ControllerRevision of a StatefulSet or a DaemonSet.
func editRevision(revision *appsv1.ControllerRevision, edit func(*v1.PodSpec)) {
	var data struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return // admission reports the error
	}
	edit(&data.Spec.Template.Spec)
	if raw, err := json.Marshal(data); err == nil {
		revision.Data = runtime.RawExtension{Raw: raw}
	}
}
