package admission

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/faultline/faultline/pkg/cluster"
)

// NewMatcher returns a function that reports whether a request for an object matches the resources of a policy or webhook. It tries the
// requests to create, change or scale the object, and to create or change one of its pods. The given objects hold the namespaces.
func NewMatcher(objs []cluster.Object) func(cluster.Object, admissionv1.MatchResources) bool {
	namespaces := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	add := func(ns *v1.Namespace) {
		ns = ns.DeepCopy()
		metav1.SetMetaDataLabel(&ns.ObjectMeta, v1.LabelMetadataName, ns.Name)
		_ = namespaces.Add(ns) // fails only for an object without a name
	}
	for _, obj := range objs { // the API server will create a missing namespace
		if name := obj.GetNamespace(); name != "" {
			add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	for _, obj := range objs {
		if ns, is := obj.(*v1.Namespace); is {
			add(ns)
		}
	}
	p := newPolicies(&cluster.State{}, corev1listers.NewNamespaceLister(namespaces), fake.NewSimpleClientset())
	return func(obj cluster.Object, of admissionv1.MatchResources) bool {
		for _, selector := range []**metav1.LabelSelector{&of.NamespaceSelector, &of.ObjectSelector} {
			if *selector == nil {
				*selector = &metav1.LabelSelector{}
			}
		}
		asked := []apiRequest{{obj: obj}, {obj: obj, was: obj}}
		if spec, _ := cluster.PodSpec(obj); spec != nil {
			pod := (&cluster.State{}).PodOf(obj)
			asked = append(asked, apiRequest{obj: pod}, apiRequest{obj: pod, was: pod})
		}
		if cluster.ReplicasOf(obj) != nil {
			asked = append(asked, apiRequest{obj: obj, was: obj, scale: true})
		}
		for _, r := range asked {
			if KindNamed(cluster.KindOf(r.obj)) == nil {
				continue
			}
			var old runtime.Object
			if r.was != nil {
				old = r.was
			}
			if matches, _, _, err := p.matchesRequest(r.attributes(r.obj, old, r.obj.GetName(), nil), &of, ""); matches && err == nil {
				return true
			}
		}
		return false
	}
}
