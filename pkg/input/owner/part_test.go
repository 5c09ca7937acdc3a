package owner_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/owner"
)

// once returns the pod as one that does not restart its containers.
func once(p *v1.Pod, phase v1.PodPhase) *v1.Pod {
	p.Spec.RestartPolicy, p.Status.Phase = v1.RestartPolicyNever, phase
	return p
}

// named returns the pod with the generated name's base.
func named(p *v1.Pod, base string) *v1.Pod {
	p.GenerateName = base
	return p
}

func job(name, label, value string, pods int32) *batchv1.Job {
	return &batchv1.Job{TypeMeta: metav1.TypeMeta{Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: batchv1.JobSpec{Parallelism: &pods, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: value}}}}}
}

func deployment(name, label, value string, pods int32) *appsv1.Deployment {
	return &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &pods, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: value}}}}}
}

// Each case derives by hand the owners in place of the parts of a controller, with the pods that each wants. Without the custom resource, these
// are the pods of the dump.
func TestParts(t *testing.T) {
	const group, role, mpi = "ray.io/group", "training.kubeflow.org/replica-type", "training.kubeflow.org/job-role"
	for name, c := range map[string]struct {
		pods      []*v1.Pod
		others    []cluster.Object
		resources map[types.UID][]cluster.Object
		want      []string
		notes     []string
	}{
		"a RayCluster that the input lacks": {
			pods: []*v1.Pod{named(pod("llm-head-abcde", "ray.io/v1", "RayCluster", "llm", group, "headgroup"), "llm-head-"),
				named(pod("llm-gpu-worker-fghij", "ray.io/v1", "RayCluster", "llm", group, "gpu"), "llm-gpu-worker-"), named(pod("llm-gpu-worker-klmno", "ray.io/v1", "RayCluster", "llm", group, "gpu"), "llm-gpu-worker-")},
			want:  []string{"RayCluster llm-head 1 []", "RayCluster llm-gpu-worker 2 []"},
			notes: []string{"3 pods of controllers that the input lacks (1 RayCluster) are assumed to come back; --unknown-owners gone assumes that nobody replaces them."},
		},
		"a RayCluster that wants one worker more, and has a group without pods": {
			pods:      []*v1.Pod{pod("llm-head", "ray.io/v1", "RayCluster", "llm", group, "headgroup"), named(pod("llm-gpu-worker-fghij", "ray.io/v1", "RayCluster", "llm", group, "gpu"), "llm-gpu-worker-")},
			resources: map[types.UID][]cluster.Object{"RayClusterllm": {deployment("llm-head", group, "headgroup", 1), deployment("llm-gpu-worker", group, "gpu", 2), deployment("llm-cpu-worker", group, "cpu", 3)}},
			want:      []string{"RayCluster llm-head 1 []", "RayCluster llm-gpu-worker 2 []", "RayCluster llm-cpu-worker 3 []"},
		},
		"a PyTorchJob that lost a worker, and whose first one has succeeded": {
			pods: []*v1.Pod{once(pod("bert-master-0", "kubeflow.org/v1", "PyTorchJob", "bert", role, "master"), v1.PodRunning), once(pod("bert-worker-0", "kubeflow.org/v1", "PyTorchJob", "bert", role, "worker"), v1.PodSucceeded),
				once(pod("bert-worker-2", "kubeflow.org/v1", "PyTorchJob", "bert", role, "worker"), v1.PodRunning)},
			resources: map[types.UID][]cluster.Object{"PyTorchJobbert": {job("bert-master", role, "master", 1), job("bert-worker", role, "worker", 3)}},
			want:      []string{"PyTorchJob bert-master 1 [bert-master-0]", "PyTorchJob bert-worker 2 [bert-worker-1 bert-worker-2]"},
		},
		"a job that has ended replaces no pod": {
			pods:      []*v1.Pod{once(pod("bert-worker-0", "kubeflow.org/v1", "PyTorchJob", "bert", role, "worker"), v1.PodRunning)},
			resources: map[types.UID][]cluster.Object{"PyTorchJobbert": {}},
		},
		"the launcher of an MPIJob is a Job of the cluster": {
			pods:      []*v1.Pod{pod("pi-worker-0", "kubeflow.org/v2beta1", "MPIJob", "pi", mpi, "worker")},
			others:    []cluster.Object{job("pi-launcher", mpi, "launcher", 1)},
			resources: map[types.UID][]cluster.Object{"MPIJobpi": {job("pi-launcher", mpi, "launcher", 1), job("pi-worker", mpi, "worker", 2)}},
			want:      []string{"MPIJob pi-worker 2 [pi-worker-0 pi-worker-1] unscaled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append([]cluster.Object{}, c.others...)
			for _, p := range c.pods {
				objects = append(objects, p)
			}
			unknown := owner.NewUnknown(objects, c.resources)
			var got []string
			owners := map[types.UID]string{}
			for _, obj := range unknown.MakeOwners(objects, false) {
				o := obj.(*cluster.UnknownOwner)
				owners[o.UID] = o.Name
				names := []string{}
				for _, named := range o.Spec.Named {
					names = append(names, named.Name)
				}
				text := fmt.Sprint(o.Kind, " ", o.Name, " ", *o.Spec.Replicas, " ", names)
				if o.Kind == "MPIJob" && o.Spec.Unscaled {
					text += " unscaled"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, unknown.Notes(false)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			for _, p := range c.pods {
				if ref := metav1.GetControllerOf(p); len(c.want) > 0 && owners[ref.UID] != ref.Name {
					t.Errorf("%s belongs to %s, which is none of the owners", p.Name, ref.Name)
				}
			}
		})
	}
}
