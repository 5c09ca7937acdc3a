package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// addRuntimeClasses adds the missing RuntimeClasses that objects of a dump name. It adds none if the dump has RuntimeClasses: then the dump
// has all of them, and new pods of any other class are refused. If the cluster does not allow reading RuntimeClasses, it adds the classes
// that any object names.
func (a *admitCall) addRuntimeClasses() {
	have, listed := map[string]bool{}, false
	for _, class := range a.state.RuntimeClasses {
		have[class.Name], listed = true, listed || cluster.FromDump(class)
	}
	for _, obj := range a.objs {
		if class, ok := obj.(*nodev1.RuntimeClass); ok {
			have[class.Name], listed = true, listed || cluster.FromDump(class)
		}
	}
	if listed {
		return
	}
	add := func(from cluster.Object, spec *v1.PodSpec) {
		if spec == nil || spec.RuntimeClassName == nil || have[*spec.RuntimeClassName] {
			return
		}
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: *spec.RuntimeClassName}, Handler: *spec.RuntimeClassName}
		if spec.Overhead != nil {
			class.Overhead = &nodev1.Overhead{PodFixed: spec.Overhead}
		}
		have[class.Name] = true
		a.notes = append(a.notes, fmt.Sprintf("%s was not given and was created with the overhead of %s, and without a node selector and tolerations",
			cluster.RefTo(class).Describe(), cluster.RefTo(from).Describe()))
		a.addCopy(class)
	}
	given, unread := a.objs, !a.state.KnowsKind("RuntimeClass")
	for _, obj := range given { // pods first: a template has no overhead
		if pod, ok := obj.(*v1.Pod); ok && (pod.Spec.NodeName != "" || cluster.FromDump(pod) || unread) {
			add(pod, &pod.Spec)
		}
	}
	for _, obj := range given {
		if template, _ := cluster.Template(obj); template != nil && (cluster.FromDump(obj) || unread) {
			add(obj, &template.Spec)
		}
	}
}
