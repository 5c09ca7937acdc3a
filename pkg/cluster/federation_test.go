package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/federation"
)

// twoMembers returns two clusters that differ only in the replicas of a workload: 1 in a, 2 in b.
func twoMembers() *Federation {
	member := func(name string, replicas int32) Member {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1.LabelHostname: "n", v1.LabelTopologyZone: "z"}}}
		web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "rs", OwnerReferences: []metav1.OwnerReference{
			{Kind: "Deployment", Name: "web", UID: "d", Controller: ptr.To(true)},
		}}}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1-x", Namespace: "default", UID: "p", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: "web-1", UID: "rs", Controller: ptr.To(true)},
		}}, Spec: v1.PodSpec{NodeName: "n"}}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
		own := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default", UID: "db"}}
		works := map[federation.Key]Work{{Kind: "Deployment", Name: "web"}: {Objects: []Object{web}}}
		return Member{Name: name}.WithWorks(new(State).With(node, web, own, set, pod, budget), works)
	}
	in := func(name, region string) *federation.Cluster {
		return &federation.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: federation.ClusterSpec{Region: region}}
	}
	return &Federation{Members: []Member{member("a", 1), member("b", 2)}, Control: &Control{Clusters: []*federation.Cluster{in("a", ""), in("b", "eu")}}}
}

func TestJoin(t *testing.T) {
	all := twoMembers().Join()
	type seen struct {
		Nodes, Hosts, Pods, On, Budgets []string
		Deployments                     []string
		Replicas                        []int32
		Owners                          []Ref
		UIDs                            map[types.UID]bool
		Covered                         []int // pods that each budget covers
	}
	got := seen{UIDs: map[types.UID]bool{}}
	for _, node := range all.Nodes {
		got.Nodes, got.Hosts = append(got.Nodes, node.Name), append(got.Hosts, node.Labels[v1.LabelHostname]+" in "+node.Labels[v1.LabelTopologyZone]+" "+node.Labels[v1.LabelTopologyRegion])
	}
	owner := all.Owners()
	for _, pod := range all.Pods {
		got.Pods, got.On, got.Owners = append(got.Pods, pod.Name), append(got.On, pod.Spec.NodeName), append(got.Owners, owner(pod))
		got.UIDs[pod.UID] = true
	}
	for _, d := range all.Deployments {
		n, _ := Replicas(d)
		got.Deployments, got.Replicas = append(got.Deployments, d.Name), append(got.Replicas, n)
	}
	for _, budget := range all.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, pod := range all.Pods {
			if selector.Matches(labels.Set(pod.Labels)) {
				n++
			}
		}
		got.Budgets, got.Covered = append(got.Budgets, budget.Name), append(got.Covered, n)
	}
	web := Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	want := seen{
		Nodes: []string{"a/n", "b/n"}, Hosts: []string{"a/n in z ", "b/n in z eu"}, Pods: []string{"a/web-1-x", "b/web-1-x"}, On: []string{"a/n", "b/n"},
		Budgets: []string{"a/web", "b/web"}, Deployments: []string{"web", "a/db", "b/db"}, Replicas: []int32{3, 1, 1}, Owners: []Ref{web, web}, UIDs: map[types.UID]bool{"a/p": true, "b/p": true}, Covered: []int{1, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Joining changes no member, and Without removes a pod only from its own member.
func TestJoinedWithout(t *testing.T) {
	fed := twoMembers()
	all := fed.Join()
	without := all.Without(all.Pods[1])
	var left []string
	for _, pod := range without.Pods {
		left = append(left, pod.Name)
	}
	if diff := cmp.Diff([]string{"a/web-1-x"}, left); diff != "" {
		t.Errorf("pods left (-want +got):\n%s", diff)
	}
	for _, m := range without.Federation.Members {
		if want := map[string]int{"a": 1, "b": 0}[m.Name]; len(m.State.Pods) != want {
			t.Errorf("member %s has %d pods, want %d", m.Name, len(m.State.Pods), want)
		}
	}
	for _, m := range fed.Members {
		pod, web := m.State.Pods[0], m.State.Deployments[0]
		if pod.Name != "web-1-x" || pod.Labels[MemberLabel] != "" || *web.Spec.Replicas > 2 || len(m.State.PodDisruptionBudgets[0].Spec.Selector.MatchLabels) != 1 {
			t.Errorf("member %s was changed: %v %v", m.Name, pod.ObjectMeta, web.Spec)
		}
	}
}
