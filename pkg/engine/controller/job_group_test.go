package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// setGates switches on feature gates for the test.
func setGates(t *testing.T, gates string) {
	t.Helper()
	gate := utilfeature.DefaultMutableFeatureGate
	if err := gate.Set(gates); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pair := range strings.Split(gates, ",") {
			name, _, _ := strings.Cut(pair, "=")
			if err := gate.ResetFeatureValueToDefault(featuregate.Feature(name)); err != nil {
				t.Error(err)
			}
		}
	})
}

// describeGroups lists the Workloads and PodGroups with their minCount, and how many pods are in each group. Names end before their hashes.
func (w *world) describeGroups() string {
	var all []string
	for _, workload := range w.state.SchedulingWorkloads {
		all = append(all, fmt.Sprintf("Workload of %s %d", workload.Spec.ControllerRef.Name, workload.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang.MinCount))
	}
	for _, group := range w.state.PodGroups {
		pods := 0
		for _, pod := range w.state.Pods {
			if cluster.PodGroupOf(pod) == group.Name {
				pods++
			}
		}
		all = append(all, fmt.Sprintf("PodGroup %s minCount %d, %d pods, priority %d", group.Name[:strings.LastIndexByte(group.Name, '-')], group.Spec.SchedulingPolicy.Gang.MinCount, pods, ptr.Deref(group.Spec.Priority, -1)))
	}
	return strings.Join(all, "; ")
}

// A Job that asks for a gang gets a Workload and a PodGroup, once, and its pods are in the group. The gang is as large as the parallelism, and
// grows with it. A Job whose template names a group, and one that has started before, get none.
func TestJobMakesItsGroup(t *testing.T) {
	newJob := func(name string, differs func(*batchv1.Job)) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-job"}, Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](4), CompletionMode: ptr.To(batchv1.IndexedCompletion),
			Scheduling:   &batchv1.JobSchedulingConfiguration{SchedulingPolicy: &schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy{Gang: &schedulingv1alpha3.WorkloadPodGroupGangSchedulingPolicy{}}},
			BackoffLimit: ptr.To[int32](6), Suspend: ptr.To(false), ManualSelector: ptr.To(true), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"job": name}},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": name}}, Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "i"}}}},
		}}
		differs(job)
		return job
	}
	for name, c := range map[string]struct {
		gates   string
		differs func(*batchv1.Job)
		others  []cluster.Object
		want    string
		larger  string // with a parallelism of 3
	}{
		"a gang": {
			gates: "GenericWorkload=true,WorkloadWithJob=true", differs: func(*batchv1.Job) {},
			want:   "Workload of train 2; PodGroup train-HASH-train-pgt-0 minCount 2, 2 pods, priority 0",
			larger: "Workload of train 3; PodGroup train-HASH-train-pgt-0 minCount 3, 3 pods, priority 0",
		},
		"without the gate": {gates: "GenericWorkload=true", differs: func(*batchv1.Job) {}},
		"a group of its own": {
			gates: "GenericWorkload=true,WorkloadWithJob=true",
			differs: func(j *batchv1.Job) {
				j.Spec.Scheduling, j.Spec.Template.Spec.SchedulingGroup = nil, &v1.PodSchedulingGroup{PodGroupName: ptr.To("own-1")}
			},
			others: []cluster.Object{&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own-1"},
				Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}}}}},
			want:   "PodGroup own minCount 1, 2 pods, priority 0",
			larger: "PodGroup own minCount 1, 3 pods, priority 0",
		},
		"one that has started": {
			gates: "GenericWorkload=true,WorkloadWithJob=true", differs: func(j *batchv1.Job) { j.Status.StartTime = &cluster.Epoch },
		},
	} {
		t.Run(name, func(t *testing.T) {
			setGates(t, c.gates)
			w := newWorld(t, 3, placeAnywhere)
			w.admit(append(c.others, newJob("train", c.differs))...)
			w.settle()
			check := func(want string) {
				t.Helper()
				got := w.describeGroups()
				if len(w.state.SchedulingWorkloads) > 0 {
					workload := w.state.SchedulingWorkloads[0].Name
					got = strings.ReplaceAll(got, workload, "train-HASH")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			check(c.want)
			larger := *w.state.Jobs[0]
			larger.Spec.Parallelism = ptr.To[int32](3)
			w.state = w.state.With(&larger)
			w.settle()
			check(c.larger)
		})
	}
}
