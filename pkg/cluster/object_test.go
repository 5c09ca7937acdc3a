package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestObjectsHaveNames(t *testing.T) {
	for _, test := range []struct {
		obj                  Object
		described, asKubectl string
	}{
		{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "Node n1", "node/n1"},
		{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, "Deployment shop/web", "deployment/web"},
	} {
		ref := RefTo(test.obj)
		if ref.Describe() != test.described || ref.String() != test.asKubectl {
			t.Errorf("%#v is %q and %q, want %q and %q", ref, ref.Describe(), ref, test.described, test.asKubectl)
		}
	}
}

// Each of these types is marked with +genclient:nonNamespaced in k8s.io/api; the others are not.
func TestKindsOfEveryNamespace(t *testing.T) {
	clusterWide := map[string]bool{"Namespace": true, "Node": true, "PersistentVolume": true, "PriorityClass": true, "StorageClass": true, "CSINode": true,
		"CSIDriver": true, "RuntimeClass": true, "DeviceClass": true, "ResourceSlice": true, "DeviceTaintRule": true,
		"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil || !Supports(obj) {
			continue
		}
		if Namespaced(gvk.Kind) == clusterWide[gvk.Kind] {
			t.Errorf("%s is namespaced: %t", gvk.Kind, Namespaced(gvk.Kind))
		}
	}
}

func TestTemplates(t *testing.T) {
	labelled := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	selector := &metav1.LabelSelector{MatchLabels: labelled.Labels}
	three := int32(3)
	for _, test := range []struct {
		obj      Object
		path     string
		selector bool
		replicas int32 // -1: it has none
	}{
		{&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: labelled, Selector: selector, Replicas: &three}}, "spec.template.spec", true, 3},
		{&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: labelled, Selector: selector}}, "spec.template.spec", true, 1},
		{&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: labelled, Selector: selector, Replicas: &three}}, "spec.template.spec", true, 3},
		{&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: labelled, Selector: selector}}, "spec.template.spec", true, -1},
		{&batchv1.Job{Spec: batchv1.JobSpec{Template: labelled, Selector: selector}}, "spec.template.spec", false, -1},
		{&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: labelled}}}}, "spec.jobTemplate.spec.template.spec", false, -1},
		{&v1.Pod{ObjectMeta: labelled.ObjectMeta}, "spec", false, -1},
		{&v1.Service{}, "", false, -1},
	} {
		kind := KindOf(test.obj)
		spec, path := PodSpec(test.obj)
		if path != test.path || (spec != nil) != (path != "") {
			t.Errorf("the pods of a %s are specified at %q, want %q", kind, path, test.path)
		}
		if path != "" && PodLabels(test.obj)["app"] != "web" {
			t.Errorf("the pods of a %s have the labels %v", kind, PodLabels(test.obj))
		}
		if got := Selector(test.obj); (got != nil) != test.selector {
			t.Errorf("a %s has the selector %v", kind, got)
		}
		replicas, scales := Replicas(test.obj)
		if scales != (test.replicas >= 0) || scales && replicas != test.replicas {
			t.Errorf("a %s asks for %d replicas (%t), want %d", kind, replicas, scales, test.replicas)
		}
	}
}

func TestSelectorsThatMatch(t *testing.T) {
	var selectors Selectors
	for _, s := range []struct {
		namespace string
		selector  *metav1.LabelSelector
	}{
		{"default", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "front"}}}, // 0
		{"default", &metav1.LabelSelector{}}, // 1: every pod
		{"default", nil},                     // 2: none
		{"other", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},                                                                // 3
		{"default", &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}},                                                           // 4
		{"default", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}}, // 5
	} {
		if err := selectors.Add(s.namespace, s.selector); err != nil {
			t.Fatal(err)
		}
	}
	if err := selectors.Add("default", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "near"}}}); err == nil {
		t.Error("a selector with an unknown operator was added")
	}
	if err := selectors.Add("default", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}); err != nil { // 6, as the one before was not added
		t.Fatal(err)
	}
	pod := func(namespace string, labels map[string]string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}
	}
	for _, test := range []struct {
		pod  *v1.Pod
		want []int
	}{
		{pod("default", map[string]string{"app": "web", "tier": "front"}), []int{0, 1, 4, 5}},
		{pod("default", map[string]string{"app": "web"}), []int{1, 5}},
		{pod("default", map[string]string{"app": "db"}), []int{1, 5, 6}},
		{pod("other", map[string]string{"app": "web", "tier": "front"}), []int{3}},
		{pod("default", nil), []int{1}},
		{pod("third", nil), nil},
	} {
		if diff := cmp.Diff(test.want, selectors.Matching(test.pod)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", test.pod.Namespace, test.pod.Labels, diff)
		}
	}
}
