package scenario

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
)

// The functions of this file derive other scenarios from one that has been read: what it would be, had something been otherwise.
// What is edited is copied, and the rest is shared, so that the scenario itself stays as it is.

// Until returns the scenario without the steps after the named one. The workloads before the first step are a step, too, named
// WorkloadsStep; that, and any name that no step has, leaves no step.
func (s *Scenario) Until(step string) *Scenario {
	next := *s
	next.Steps = slices.Clip(s.Steps[:s.index(step)+1])
	return &next
}

// Then returns the scenario with a further step at its end.
func (s *Scenario) Then(step Step) *Scenario {
	next := *s
	next.Steps = append(slices.Clip(s.Steps), LoadedStep{Step: step})
	return &next
}

// With returns the scenario with further objects in its cluster, there from the start.
func (s *Scenario) With(objects ...cluster.Object) *Scenario {
	next := *s
	next.Cluster = slices.Concat(s.Cluster, objects)
	return &next
}

// Edit returns the scenario as it would be had the pods of the owner always had another spec. The function changes a pod's spec in
// place. It is given a copy of every one that the scenario holds: the template of the owner in the cluster, in the workloads and
// in each step that applies or patches it; those of the ReplicaSets, Jobs and ControllerRevisions that it controls, as dumps have
// them; and those of its pods, bound ones included. It may be given a spec that it has changed already.
func (s *Scenario) Edit(owner cluster.Ref, edit func(*v1.PodSpec)) *Scenario {
	return s.edit(owner, "", edit)
}

func (s *Scenario) edit(owner cluster.Ref, key string, edit func(*v1.PodSpec)) *Scenario {
	belongs := s.belonging(owner)
	return s.change(key, func(obj cluster.Object) cluster.Object {
		if !belongs(obj) {
			return obj
		}
		edited := obj.DeepCopyObject().(cluster.Object)
		if revision, ok := edited.(*appsv1.ControllerRevision); ok {
			editRevision(revision, edit)
		} else if spec, _ := cluster.PodSpec(edited); spec != nil {
			edit(spec)
		}
		return edited
	})
}

// change returns the scenario with f applied to every object that it holds, and to what its patches make. f returns what it leaves
// as it is. Where scenarios are changed alike, by the same key, they share what comes of it; "" is no key.
func (s *Scenario) change(key string, f func(cluster.Object) cluster.Object) *Scenario {
	if key != "" {
		f = s.loader.alike.change(key, f)
	}
	next := *s
	next.Cluster, next.Workloads = each(s.Cluster, f), each(s.Workloads, f)
	next.Steps = slices.Clone(s.Steps)
	for i := range next.Steps {
		step := &next.Steps[i]
		step.Objects = each(step.Objects, f)
		if step.Patch != nil {
			step.Patch = step.Patch.then(f)
		}
	}
	return &next
}

// unplace returns the scenario without the pods of the owner that the cluster has on nodes, and without the ReplicaSets, Jobs and
// ControllerRevisions that it controls, so that all of its pods are made and placed anew.
func (s *Scenario) unplace(owner cluster.Ref) *Scenario {
	belongs := s.belonging(owner)
	next := *s
	next.Cluster = slices.DeleteFunc(slices.Clone(s.Cluster), func(obj cluster.Object) bool {
		return belongs(obj) && cluster.RefTo(obj) != owner
	})
	return &next
}

// Scale returns the scenario with so many replicas of the owner, a Deployment, ReplicaSet or StatefulSet, at the named step: what
// sets the number last by then sets this one. Earlier steps have the replicas that they had.
func (s *Scenario) Scale(owner cluster.Ref, step string, replicas int32) *Scenario {
	return s.scale("", owner, step, replicas)
}

func (s *Scenario) scale(key string, owner cluster.Ref, step string, replicas int32) *Scenario {
	f := func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != owner || cluster.ReplicasOf(obj) == nil {
			return obj
		}
		scaled := obj.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(scaled) = &replicas
		return scaled
	}
	if key != "" {
		f = s.loader.alike.change(key, f)
	}
	sets := func(objects []cluster.Object) bool {
		return slices.ContainsFunc(objects, func(obj cluster.Object) bool { return cluster.RefTo(obj) == owner })
	}
	next := *s
	next.Steps = slices.Clone(s.Steps)
	for i := s.index(step); i >= 0; i-- {
		step := &next.Steps[i]
		switch {
		case step.Scale != nil && isTarget(step.Scale.Target, owner):
			scale := *step.Scale
			scale.Replicas = replicas
			step.Scale = &scale
			return &next
		case step.Apply != nil && sets(step.Objects):
			step.Objects = each(step.Objects, f)
			return &next
		case step.Patch != nil && isTarget(step.Patch.Target, owner):
			step.Patch = step.Patch.then(f) // it may set the number, or leave it to what was before
		}
	}
	if sets(s.Workloads) {
		next.Workloads = each(s.Workloads, f)
	} else {
		next.Cluster = each(s.Cluster, f)
	}
	return &next
}

// index is the position of the step, -1 for the workloads before the first.
func (s *Scenario) index(step string) int {
	return slices.IndexFunc(s.Steps, func(loaded LoadedStep) bool { return loaded.Name == step })
}

// belonging returns a function that tells whether an object is the owner or, directly or not, controlled by it.
func (s *Scenario) belonging(owner cluster.Ref) func(cluster.Object) bool {
	under := func(obj cluster.Object, above cluster.Ref) bool {
		ref := metav1.GetControllerOfNoCopy(obj)
		return ref != nil && cluster.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name} == above
	}
	outermost := owner
	between := map[cluster.Ref]bool{} // ReplicaSets and Jobs
	for _, obj := range s.objects() {
		if under(obj, outermost) {
			between[cluster.RefTo(obj)] = true
		}
	}
	return func(obj cluster.Object) bool {
		if cluster.RefTo(obj) == outermost || under(obj, outermost) {
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

func isTarget(target Target, owner cluster.Ref) bool {
	kind, name, err := ParseTarget(target.Target)
	return err == nil && owner == (cluster.Ref{Kind: kind, Namespace: namespaceOr(target.Namespace, kind), Name: name})
}

// each returns the objects with f applied to each.
func each(objects []cluster.Object, f func(cluster.Object) cluster.Object) []cluster.Object {
	var all []cluster.Object
	for _, obj := range objects {
		all = append(all, f(obj))
	}
	return all
}

// editRevision changes the pod's spec in the template that the ControllerRevision of a StatefulSet or a DaemonSet holds.
func editRevision(revision *appsv1.ControllerRevision, edit func(*v1.PodSpec)) {
	var data struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return // whoever admits it says so
	}
	edit(&data.Spec.Template.Spec)
	if raw, err := json.Marshal(data); err == nil {
		revision.Data = runtime.RawExtension{Raw: raw}
	}
}
