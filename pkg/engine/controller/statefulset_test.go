package controller

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

func statefulSet(replicas int, image, more string) string {
	return workload("StatefulSet", "db", replicas, image, "  serviceName: db\n"+more)
}

// claims is a volumeClaimTemplate for a StatefulSet.
const claims = `  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// images returns each pod's name and image, in order of arrival.
func images(s *cluster.State) string {
	var all []string
	for _, pod := range s.Pods {
		all = append(all, pod.Name+"="+pod.Spec.Containers[0].Image)
	}
	return strings.Join(all, " ")
}

// placeAllBut places all pods but the one with the name.
func placeAllBut(name string) func(*cluster.State, *v1.Pod) string {
	return func(s *cluster.State, pod *v1.Pod) string {
		if pod.Name == name {
			return ""
		}
		return placeAnywhere(s, pod)
	}
}

func TestStatefulSetOrderedReadyWaits(t *testing.T) {
	w := newWorld(t, 1, placeAllBut("db-1"))
	w.apply(statefulSet(4, "a", ""))
	w.check("pods", w.pods(), map[string]string{"db-0": "n1", "db-1": ""})
	w.check("rollout", Rollouts(w.state)[0], Rollout{
		Ref:     cluster.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"},
		Desired: 4, Updated: 2, Ready: 1, Unavailable: 3, NotCreated: []string{"db-2", "db-3"},
		Waiting: "pod db-1 is Pending; db-2, db-3 are not created before it is Ready, because podManagementPolicy is OrderedReady",
	})
	w.place = placeAnywhere
	w.settle()
	w.check("complete", Rollouts(w.state)[0].Complete, true)
}

func TestStatefulSetWaitsForMinReadySeconds(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(statefulSet(2, "a", "  minReadySeconds: 30\n"))
	for _, want := range []struct {
		pods      string
		available int32
	}{{"db-0=a", 0}, {"db-0=a db-1=a", 1}, {"db-0=a db-1=a", 2}} {
		w.check("pods", images(w.state), want.pods)
		w.check("available", w.state.StatefulSets[0].Status.AvailableReplicas, want.available)
		if want.available < 2 {
			w.wait()
		}
	}
}

func TestStatefulSetParallelDoesNotWait(t *testing.T) {
	w := newWorld(t, 1, placeAllBut("db-1"))
	w.apply(statefulSet(4, "a", "  podManagementPolicy: Parallel\n"))
	w.check("pods", images(w.state), "db-0=a db-1=a db-2=a db-3=a")
	w.check("waiting", Rollouts(w.state)[0].Waiting, "pod db-1 is Pending")
}

func TestStatefulSetPods(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(statefulSet(1, "a", "  ordinals: {start: 5}\n"+claims))
	pod, set := w.state.Pods[0], w.state.StatefulSets[0]
	w.check("labels", pod.Labels, map[string]string{
		"app": "db", "apps.kubernetes.io/pod-index": "5", "statefulset.kubernetes.io/pod-name": "db-5",
		"controller-revision-hash": set.Status.UpdateRevision,
	})
	w.check("identity", []string{pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain}, []string{"db-5", "db-5", "db"})
	w.check("claim", w.state.PersistentVolumeClaims[0].Name, "data-db-5")
	w.check("volume", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName, "data-db-5")
}

func TestStatefulSetRollingUpdate(t *testing.T) {
	const parallel = "  podManagementPolicy: Parallel\n"
	tests := []struct {
		name, more string
		// deleted lists the pods that each round deletes.
		deleted string
		after   string
	}{
		{"one by one from the highest", "", "db-2 db-1 db-0", "db-2=b db-1=b db-0=b"},
		{"from the partition", "  updateStrategy: {rollingUpdate: {partition: 2}}\n", "db-2", "db-0=a db-1=a db-2=b"},
		// The gate MaxUnavailableStatefulSet is on by default in 1.37.
		{"two at a time", parallel + "  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}\n", "db-1,db-2 db-0", "db-1=b db-2=b db-0=b"},
		{"on delete", "  updateStrategy: {type: OnDelete}\n", "", "db-0=a db-1=a db-2=a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(statefulSet(3, "a", test.more))
			before := map[string]*v1.Pod{}
			var deleted []string
			w.round = func(s *cluster.State) {
				var gone []string
				now := map[string]*v1.Pod{}
				for _, pod := range s.Pods {
					now[pod.Name] = pod
				}
				for i := range 3 {
					if name := fmt.Sprintf("db-%d", i); before[name] != nil && now[name] == nil {
						gone = append(gone, name)
					}
				}
				if before = now; len(gone) > 0 {
					deleted = append(deleted, strings.Join(gone, ","))
				}
			}
			w.round(w.state)
			w.apply(statefulSet(3, "b", test.more))
			w.check("deleted", strings.Join(deleted, " "), test.deleted)
			w.check("after", images(w.state), test.after)
			w.check("complete", Rollouts(w.state)[0].Complete, test.name != "on delete")
		})
	}
}

func TestStatefulSetPodBelowThePartitionKeepsItsTemplate(t *testing.T) {
	const partition = "  updateStrategy: {rollingUpdate: {partition: 2}}\n"
	w := newWorld(t, 1, placeAnywhere)
	w.apply(statefulSet(3, "a", partition))
	w.apply(statefulSet(3, "b", partition))
	w.state = admission.Delete(w.state, w.state.Pods[0])
	w.settle()
	w.check("pods", images(w.state), "db-1=a db-2=b db-0=a")
}

func TestStatefulSetScalesDownFromTheHighest(t *testing.T) {
	for policy, kept := range map[string]int{"Retain": 3, "Delete": 1} {
		t.Run(policy, func(t *testing.T) {
			more := claims + "  persistentVolumeClaimRetentionPolicy: {whenScaled: " + policy + "}\n"
			w := newWorld(t, 1, placeAnywhere)
			w.apply(statefulSet(3, "a", more))
			w.apply(statefulSet(1, "a", more))
			w.check("pods", images(w.state), "db-0=a")
			w.check("claims", len(w.state.PersistentVolumeClaims), kept)
		})
	}
}

func TestClaimsOfADeletedStatefulSet(t *testing.T) {
	for policy, kept := range map[string]int{"Retain": 2, "Delete": 0} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(statefulSet(2, "a", claims+"  persistentVolumeClaimRetentionPolicy: {whenDeleted: "+policy+"}\n"))
			w.check("claims before", len(w.state.PersistentVolumeClaims), 2)
			w.state = admission.Delete(w.state, w.state.StatefulSets[0])
			w.settle()
			w.check("pods", len(w.state.Pods), 0)
			w.check("claims", len(w.state.PersistentVolumeClaims), kept)
		})
	}
}
