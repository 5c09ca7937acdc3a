package owner

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// part is the pods that a controller has made from one of its templates: for example the head of a RayCluster, or the workers of a PyTorchJob. A
// controller of one template has one part.
type part struct {
	controller metav1.OwnerReference // of all parts
	namespace  string
	name       string          // the name of the pods, without the part that tells them apart
	names      map[string]bool // of all pods, also of those that have ended; nil for the only part of a controller
	workload   cluster.Object  // what the operator makes of the part, according to the custom resource; nil if the resource is not there
}

// parts are the parts of the controllers whose pods are in the dump.
type parts struct {
	all     map[types.UID]*part // by the UID of the owner in place of the part
	ended   map[types.UID]bool  // the UIDs of custom resources that are jobs that have ended: their pods are not replaced
	missing []*part             // parts without pods
}

// findParts finds the parts of the pods' controllers, and gives each pod a reference to its part in place of its controller.
func (u *Unknown) findParts(objects []cluster.Object) *parts {
	found := &parts{all: map[types.UID]*part{}, ended: map[types.UID]bool{}}
	seen := map[types.UID]map[string]*part{} // by the controller, and by part
	var first []*part                        // of each controller
	for _, obj := range objects {
		pod, is := obj.(*v1.Pod)
		if !is || !cluster.FromDump(pod) {
			continue
		}
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || u.uids[ref.UID] {
			continue
		}
		workloads, given := u.resources[ref.UID]
		if given && len(workloads) == 0 {
			found.ended[ref.UID] = true
			continue
		}
		which := lookUpKind(ref).partOf(pod.Labels)
		if which == "" {
			found.all[ref.UID] = &part{controller: *ref, workload: findOnlyWorkload(workloads)}
			continue
		}
		of := seen[ref.UID][which]
		if of == nil {
			of = &part{controller: *ref, namespace: pod.Namespace, name: partName(pod, lookUpKind(ref)), names: map[string]bool{}}
			if seen[ref.UID] == nil {
				seen[ref.UID] = map[string]*part{}
				first = append(first, of)
			}
			seen[ref.UID][which] = of
			of.workload = findWorkload(workloads, lookUpKind(ref), which)
			found.all[of.uid()] = of
		}
		of.names[pod.Name] = true
		of.adopt(pod)
	}
	for _, of := range first {
		for _, workload := range u.resources[of.controller.UID] {
			if missing := u.newMissing(of, workload, seen[of.controller.UID]); missing != nil {
				found.missing = append(found.missing, missing)
			}
		}
	}
	return found
}

// findWorkload returns the workload whose pods are the part, or nil if there is none.
func findWorkload(workloads []cluster.Object, known kind, which string) cluster.Object {
	i := slices.IndexFunc(workloads, func(workload cluster.Object) bool { return known.partOf(templateLabels(workload)) == which })
	if i < 0 {
		return nil
	}
	return workloads[i]
}

// findOnlyWorkload returns the workload if there is exactly one with pods, and otherwise nil.
func findOnlyWorkload(workloads []cluster.Object) cluster.Object {
	withPods := list.Where(workloads, func(workload cluster.Object) bool { template, _ := cluster.Template(workload); return template != nil })
	if len(withPods) != 1 {
		return nil
	}
	return withPods[0]
}

func templateLabels(workload cluster.Object) map[string]string {
	if template, _ := cluster.Template(workload); template != nil {
		return template.Labels
	}
	return nil
}

// wantedPods returns the number of pods that the workload asks for.
func wantedPods(workload cluster.Object) int32 {
	if job, is := workload.(*batchv1.Job); is {
		return ptr.Deref(job.Spec.Parallelism, 1)
	}
	replicas, _ := cluster.Replicas(workload)
	return replicas
}

// partName returns the name that the pods of the pod's part have in common.
func partName(pod *v1.Pod, known kind) string {
	switch {
	case pod.GenerateName != "":
		return strings.TrimSuffix(pod.GenerateName, "-")
	case known.keepsNames:
		return strings.TrimSuffix(pod.Name, "-"+nameSuffix(pod))
	}
	return pod.Name
}

// newMissing returns the part of the workload beside another part of the same controller, or nil if the part has pods, is no part, or is an
// object of its own in the cluster.
func (u *Unknown) newMissing(beside *part, workload cluster.Object, seen map[string]*part) *part {
	which := lookUpKind(&beside.controller).partOf(templateLabels(workload))
	if which == "" || seen[which] != nil || u.names[cluster.Ref{Kind: cluster.KindOf(workload), Namespace: beside.namespace, Name: workload.GetName()}] {
		return nil
	}
	return &part{controller: beside.controller, namespace: beside.namespace, name: workload.GetName(), workload: workload}
}

// uid returns the UID of the owner in place of the part.
func (p *part) uid() types.UID {
	return admission.UID(p.controller.Kind, p.namespace, p.name, 0)
}

// adopt makes the owner in place of the part the controller of the pod.
func (p *part) adopt(pod *v1.Pod) {
	pod.OwnerReferences = slices.Clone(pod.OwnerReferences)
	ref := metav1.GetControllerOfNoCopy(pod)
	ref.Name, ref.UID = p.name, p.uid()
}

// complete gives the owner as many pods as the custom resource asks for, at least those that it has. Pods that have ended count: the operator
// does not make them again.
func (p *part) complete(o *cluster.UnknownOwner) {
	wanted := wantedPods(p.workload)
	if len(o.Spec.Named) == 0 || p.names == nil {
		*o.Spec.Replicas = max(*o.Spec.Replicas, wanted)
		return
	}
	for i := range wanted {
		if name := fmt.Sprintf("%s-%d", p.name, i); !p.names[name] {
			further := o.Spec.Template
			further.Name = name
			o.Spec.Named = append(o.Spec.Named, further)
			*o.Spec.Replicas++
		}
	}
	slices.SortStableFunc(o.Spec.Named, func(a, b v1.PodTemplateSpec) int {
		return compareOrdinals(&v1.Pod{ObjectMeta: a.ObjectMeta}, &v1.Pod{ObjectMeta: b.ObjectMeta})
	})
}

// makeMissing returns the owners in place of parts without pods, which the operator has yet to make.
func (p *parts) makeMissing() []cluster.Object {
	var owners []cluster.Object
	for _, of := range p.missing {
		known, wanted := lookUpKind(&of.controller), wantedPods(of.workload)
		made, _ := cluster.Template(of.workload)
		template := *made.DeepCopy()
		if !known.keepsNames {
			template.GenerateName = of.name + "-"
		}
		o := &cluster.UnknownOwner{TypeMeta: metav1.TypeMeta{APIVersion: of.controller.APIVersion, Kind: of.controller.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name, UID: of.uid()},
			Spec:       cluster.UnknownOwnerSpec{Replicas: &wanted, Template: template, Unscaled: known.unscaled}}
		for i := range wanted {
			if known.keepsNames {
				named := template
				named.Name = fmt.Sprintf("%s-%d", of.name, i)
				o.Spec.Named = append(o.Spec.Named, named)
			}
		}
		owners = append(owners, o)
	}
	return owners
}
