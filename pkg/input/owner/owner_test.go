package owner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/owner"
)

// pod is a pod of a dump, one minute younger than the one before.
var minutes int

func pod(name, apiVersion, kind, owner string, labels ...string) *v1.Pod {
	minutes++
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: map[string]string{"app": owner},
			CreationTimestamp: metav1.NewTime(cluster.Epoch.Add(time.Duration(minutes) * time.Minute)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, UID: types.UID(kind + owner), Controller: new(true)}}},
		Spec: v1.PodSpec{NodeName: "n", RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "c", Image: name}},
			EphemeralContainers: []v1.EphemeralContainer{{}}},
	}
	for i := 0; i < len(labels); i += 2 {
		p.Labels[labels[i]] = labels[i+1]
	}
	return p
}

// Each case derives by hand the objects in place of the controllers: the kind and name, the number of replicas, and the names that pods
// keep.
func TestOwners(t *testing.T) {
	never, ending, manifest := pod("flow-1", "argoproj.io/v1alpha1", "Workflow", "flow"), pod("b-2", "postgresql.cnpg.io/v1", "Cluster", "b"), pod("by-hand", "apps/v1", "ReplicaSet", "hand")
	never.Spec.RestartPolicy = v1.RestartPolicyNever
	machine := pod("virt-launcher-vm-x7k2p", "kubevirt.io/v1", "VirtualMachineInstance", "vm")
	machine.Spec.RestartPolicy = v1.RestartPolicyNever
	ending.DeletionTimestamp = &cluster.Epoch
	manifest.ResourceVersion = ""
	failed := pod("web-x", "apps/v1", "ReplicaSet", "web")
	failed.Status.Phase = v1.PodFailed
	left := pod("set-ab123", "apps/v1", "ReplicaSet", "set")
	left.DeletionTimestamp = &cluster.Epoch
	for name, c := range map[string]struct {
		objects []cluster.Object
		want    []string
		notes   []string
	}{
		"names that are kept, in the order of their numbers": {
			objects: []cluster.Object{pod("kafka-10", "core.strimzi.io/v1beta2", "StrimziPodSet", "kafka"), pod("kafka-9", "core.strimzi.io/v1beta2", "StrimziPodSet", "kafka")},
			want:    []string{"StrimziPodSet kafka 2 [kafka-9 kafka-10] unscaled"},
			notes:   []string{"2 pods of controllers that the input lacks (1 StrimziPodSet) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"a pod that is being deleted keeps its name": {
			objects: []cluster.Object{pod("b-1", "postgresql.cnpg.io/v1", "Cluster", "b"), ending},
			want:    []string{"Cluster b 2 [b-1 b-2]"},
			notes:   []string{"2 pods of controllers that the input lacks (1 Cluster) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"one whose name is generated has another already": {objects: []cluster.Object{left}},
		"a kind that nobody knows: names that end in numbers, or not": {
			objects: []cluster.Object{pod("a-0", "x/v1", "Thing", "a"), pod("a-1", "x/v1", "Thing", "a"), pod("c-0", "x/v1", "Thing", "c"), pod("c-22222", "x/v1", "Thing", "c")},
			want:    []string{"Thing a 2 [a-0 a-1]", "Thing c 2 []"},
			notes:   []string{"4 pods of controllers that the input lacks (2 Things) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"a Deployment in the middle of a rollout": {
			objects: []cluster.Object{
				pod("web-1-aaaaa", "apps/v1", "ReplicaSet", "web-1", "app", "web", "pod-template-hash", "1"),
				pod("web-1-bbbbb", "apps/v1", "ReplicaSet", "web-1", "app", "web", "pod-template-hash", "1"),
				pod("web-2-ccccc", "apps/v1", "ReplicaSet", "web-2", "app", "web", "pod-template-hash", "2"),
			},
			want:  []string{"ReplicaSet web-1 2 of Deployment web", "ReplicaSet web-2 1 of Deployment web", "Deployment web 3"},
			notes: []string{"3 pods of controllers that the input lacks (1 Deployment) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"a ReplicaSet whose Deployment is there is admission's business": {
			objects: []cluster.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}},
				pod("web-1-aaaaa", "apps/v1", "ReplicaSet", "web-1", "pod-template-hash", "1")},
		},
		"a Rollout's ReplicaSet, and a DeploymentConfig's controller": {
			objects: []cluster.Object{pod("web-1-aaaaa", "apps/v1", "ReplicaSet", "web-1", "rollouts-pod-template-hash", "1"), pod("dc-1-aaaaa", "v1", "ReplicationController", "dc-1")},
			want:    []string{"ReplicaSet web-1 1 of Rollout web", "ReplicationController dc-1 1"},
			notes:   []string{"2 pods of controllers that the input lacks (1 Rollout and 1 ReplicationController) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"a virtual machine starts again": {
			objects: []cluster.Object{machine},
			want:    []string{"VirtualMachineInstance vm 1 [] unscaled"},
			notes:   []string{"1 pod of controllers that the input lacks (1 VirtualMachineInstance) is assumed to come back; --unknown-owners gone assumes that nobody replaces it."},
		},
		"what runs once is lost": {
			objects: []cluster.Object{never},
			notes:   []string{"1 pod runs once, for controllers that the input lacks (Workflow): what a failure or a drain takes of it is lost work."},
		},
		"what has ended, lives with its node, or is no pod of a cluster": {
			objects: []cluster.Object{failed, manifest, pod("agent-1", "apps/v1", "DaemonSet", "agent"), pod("etcd-n", "v1", "Node", "n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			unknown := owner.NewUnknown(c.objects, nil)
			var got []string
			for _, obj := range unknown.MakeOwners(c.objects, false) {
				replicas, _ := cluster.Replicas(obj)
				text := fmt.Sprint(cluster.KindOf(obj), " ", obj.GetName(), " ", replicas)
				if by := metav1.GetControllerOf(obj); by != nil {
					text += " of " + by.Kind + " " + by.Name
				}
				if o, is := obj.(*cluster.UnknownOwner); is {
					names := []string{}
					for _, named := range o.Spec.Named {
						names = append(names, named.Name)
					}
					if text += fmt.Sprint(" ", names); o.Spec.Unscaled {
						text += " unscaled"
					}
				}
				got = append(got, text)
				spec, _ := cluster.PodSpec(obj)
				if spec.NodeName != "" || len(spec.EphemeralContainers) > 0 {
					t.Errorf("%s: the template has a node or containers for debugging", text)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, unknown.Notes(false)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// The status of a budget that needs the scale subresource shows whether it exists, whatever the kind says.
func TestBudgetsShowWhetherThereIsAScale(t *testing.T) {
	for reason, want := range map[string]bool{policyv1.SyncFailedReason: true, policyv1.SufficientPodsReason: false} {
		for _, kind := range []string{"StrimziPodSet", "Thing"} {
			p := pod("a-0", "core.strimzi.io/v1", kind, "a")
			objects := []cluster.Object{p, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"},
				Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: p.Labels}},
				Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1,
					Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: reason}}},
			}}
			made := owner.NewUnknown(objects, nil).MakeOwners(objects, false)
			if got := made[0].(*cluster.UnknownOwner).Spec.Unscaled; got != want {
				t.Errorf("%s, %s: unscaled %t, want %t", kind, reason, got, want)
			}
		}
	}
}
