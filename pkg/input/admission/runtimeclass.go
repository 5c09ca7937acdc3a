package admission

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"

	"github.com/faultline/faultline/pkg/cluster"
)

// newRuntimeClass returns upstream's plugin RuntimeClass with the classes of the state.
func newRuntimeClass(s *cluster.State) (*runtimeclass.RuntimeClass, error) {
	client := fake.NewSimpleClientset() // the plugin reads from it what its informer lacks; it is empty
	factory := informers.NewSharedInformerFactory(client, 0)
	known := factory.Node().V1().RuntimeClasses().Informer().GetIndexer()
	for _, class := range s.RuntimeClasses {
		if err := known.Add(class); err != nil {
			return nil, err
		}
	}
	plugin := runtimeclass.NewRuntimeClass()
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetExternalKubeClientSet(client)
	return plugin, nil
}

// addRuntimeClasses adds the missing RuntimeClasses that objects of a dump name. It adds none if the dump has RuntimeClasses, since it then
// has all of them, and refuses new pods of any other.
func (a *admitting) addRuntimeClasses() {
	have, listed := map[string]bool{}, false
	for _, class := range a.state.RuntimeClasses {
		have[class.Name], listed = true, listed || cluster.Dumped(class)
	}
	for _, obj := range a.objs {
		if class, ok := obj.(*nodev1.RuntimeClass); ok {
			have[class.Name], listed = true, listed || cluster.Dumped(class)
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
		a.add(class)
	}
	given := a.objs
	for _, obj := range given { // pods first: a template has no overhead
		if pod, ok := obj.(*v1.Pod); ok && (pod.Spec.NodeName != "" || cluster.Dumped(pod)) {
			add(pod, &pod.Spec)
		}
	}
	for _, obj := range given {
		if template, _ := cluster.Template(obj); template != nil && cluster.Dumped(obj) {
			add(obj, &template.Spec)
		}
	}
}

// limitAndRun runs the plugins LimitRanger and RuntimeClass, which work on internal versions. As in the API server, first the plugins
// change the pod, then it is validated, and then they may refuse it. Few pods need them.
func (p *Pods) limitAndRun(pod *v1.Pod) error {
	ranges := limitRangesOf(p.state, pod.Namespace)
	if len(ranges) == 0 && pod.Spec.RuntimeClassName == nil && pod.Spec.Overhead == nil {
		return nil
	}
	if p.runtimeClass == nil {
		var err error
		if p.runtimeClass, err = newRuntimeClass(p.state); err != nil {
			return err
		}
	}
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	request := creationOf(pod, &internal)
	for _, limits := range ranges {
		if err := limitranger.PodMutateLimitFunc(limits, &internal); err != nil {
			return err
		}
	}
	if err := p.runtimeClass.Admit(context.Background(), request, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(&internal)
	if pod.Name == "" {
		internal.Name = GenerateName(pod.GenerateName, 0) // any valid name: the prototype of a controller's pods has none
	}
	if errs := validatePod(&internal); len(errs) > 0 {
		return apierrors.NewInvalid(core.Kind("Pod"), nameOf(pod), errs)
	}
	if err := limitPod(request, ranges, &internal); err != nil {
		return err
	}
	if err := p.runtimeClass.Validate(context.Background(), request, nil); err != nil {
		return err
	}
	var admitted v1.Pod
	if err := corev1.Convert_core_Pod_To_v1_Pod(&internal, &admitted, nil); err != nil {
		return err
	}
	admitted.Name = pod.Name
	*pod = admitted
	return nil
}
