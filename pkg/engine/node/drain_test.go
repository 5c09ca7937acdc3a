package node

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// drained has the answers of the filters of k8s.io/kubectl v0.37.1/pkg/drain, recorded with its Helper. A row is a controller and a phase
// of a pod (m: a static pod's mirror, l: with an emptyDir). The columns are the flags: none, f --force, i --ignore-daemonsets, fi, d
// --delete-emptydir-data, fd, id, fid. E is evicted, a dot is left alone, and the rest block the drain: D as a DaemonSet's pod, L for its
// local storage, U for its lack of a controller.
const drained = `-                            Running   -  UEUEUEUE
-                            Running   m  ........
-                            Running   l  LLLLUEUE
-                            Running   ml ........
-                            Succeeded -  EEEEEEEE
-                            Succeeded m  ........
-                            Succeeded l  EEEEEEEE
-                            Succeeded ml ........
-                            Failed    -  EEEEEEEE
-                            Failed    m  ........
-                            Failed    l  EEEEEEEE
-                            Failed    ml ........
apps/v1,ReplicaSet           Running   -  EEEEEEEE
apps/v1,ReplicaSet           Running   m  ........
apps/v1,ReplicaSet           Running   l  LLLLEEEE
apps/v1,ReplicaSet           Running   ml ........
apps/v1,ReplicaSet           Succeeded -  EEEEEEEE
apps/v1,ReplicaSet           Succeeded m  ........
apps/v1,ReplicaSet           Succeeded l  EEEEEEEE
apps/v1,ReplicaSet           Succeeded ml ........
apps/v1,ReplicaSet           Failed    -  EEEEEEEE
apps/v1,ReplicaSet           Failed    m  ........
apps/v1,ReplicaSet           Failed    l  EEEEEEEE
apps/v1,ReplicaSet           Failed    ml ........
apps/v1,DaemonSet            Running   -  DD..DD..
apps/v1,DaemonSet            Running   m  DD..DD..
apps/v1,DaemonSet            Running   l  DD..DD..
apps/v1,DaemonSet            Running   ml DD..DD..
apps/v1,DaemonSet            Succeeded -  EEEEEEEE
apps/v1,DaemonSet            Succeeded m  ........
apps/v1,DaemonSet            Succeeded l  EEEEEEEE
apps/v1,DaemonSet            Succeeded ml ........
apps/v1,DaemonSet            Failed    -  EEEEEEEE
apps/v1,DaemonSet            Failed    m  ........
apps/v1,DaemonSet            Failed    l  EEEEEEEE
apps/v1,DaemonSet            Failed    ml ........
extensions/v1beta1,DaemonSet Running   -  EEEEEEEE
extensions/v1beta1,DaemonSet Running   m  ........
extensions/v1beta1,DaemonSet Running   l  LLLLEEEE
extensions/v1beta1,DaemonSet Running   ml ........
extensions/v1beta1,DaemonSet Succeeded -  EEEEEEEE
extensions/v1beta1,DaemonSet Succeeded m  ........
extensions/v1beta1,DaemonSet Succeeded l  EEEEEEEE
extensions/v1beta1,DaemonSet Succeeded ml ........
extensions/v1beta1,DaemonSet Failed    -  EEEEEEEE
extensions/v1beta1,DaemonSet Failed    m  ........
extensions/v1beta1,DaemonSet Failed    l  EEEEEEEE
extensions/v1beta1,DaemonSet Failed    ml ........`

func TestDrainAsKubectlDoes(t *testing.T) {
	answers := map[string]string{
		"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): default/p":       "D",
		"cannot delete Pods with local storage (use --delete-emptydir-data to override): default/p": "L",
		"cannot delete Pods that declare no controller (use --force to override): default/p":        "U",
	}
	for row := range strings.Lines(drained) {
		f := strings.Fields(row)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: v1.PodSpec{NodeName: "n1"}}
		if version, kind, owned := strings.Cut(f[0], ","); owned {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "owner", Controller: new(true)}}
		}
		pod.Status.Phase = v1.PodPhase(f[1])
		if strings.Contains(f[2], "m") {
			pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
		}
		if strings.Contains(f[2], "l") {
			pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		}
		s := &cluster.State{Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}, Pods: []*v1.Pod{pod}}
		got := ""
		for flags := range len(f[3]) {
			options := DrainOptions{Force: flags&1 != 0, IgnoreDaemonSets: flags&2 != 0, DeleteEmptyDirData: flags&4 != 0}
			evict, blocked, err := PodsToEvict(s, "n1", options)
			switch {
			case err != nil:
				t.Fatal(err)
			case len(blocked) > 0:
				got += cmp.Or(answers[blocked[0].Reason], blocked[0].Reason)
			case len(evict) > 0:
				got += "E"
			default:
				got += "."
			}
		}
		if got != f[3] {
			t.Errorf("%s %s %s: %s, and kubectl %s", f[0], f[1], f[2], got, f[3])
		}
	}
}

// The numbers of a budget that the disruption controller has not observed yet are stale: the API server refuses the eviction before it
// looks at the numbers, in words of its own.
func TestEvictionAsksBudget(t *testing.T) {
	labels := map[string]string{"app": "web"}
	pod := cluster.BindPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: labels}}, "n1", cluster.Epoch.Time)
	for name, test := range map[string]struct {
		observed int64
		allowed  int32
		want     string
	}{
		"allowed":            {2, 1, ""},
		"used up":            {2, 0, "The disruption budget web needs 1 healthy pods and has 1 currently"},
		"stale":              {1, 0, "The disruption budget web is still being processed by the server."},
		"stale, and allowed": {1, 1, "The disruption budget web is still being processed by the server."},
	} {
		pdb := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 2},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: test.observed, DisruptionsAllowed: test.allowed, DesiredHealthy: 1, CurrentHealthy: 1},
		}
		_, err := Evict((&cluster.State{}).With(pod, pdb), pod)
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrBudget) || !strings.HasSuffix(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
