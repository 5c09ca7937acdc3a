package controller

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// MaxPods is the default limit on the pods that controllers create in a simulation. Kubernetes itself is tested with up to 150,000 pods.
const MaxPods = 150_000

// TooManyPodsError is the error that controllers would create too many pods.
type TooManyPodsError struct {
	// Owner is the workload that asks for most pods: for Pods of the Total. Most is the limit.
	Owner       cluster.Ref
	Pods, Total int64
	Most        int
	// Advice says what to do other than ask for fewer pods. The default is to set maxPods.
	Advice string
}

// Error names the workload that asks for most pods.
func (e *TooManyPodsError) Error() string {
	return fmt.Sprintf("%s: asks for %d of %d pods, and a simulation has at most %d; ask for fewer, or %s",
		e.Owner.Describe(), e.Pods, e.Total, e.Most, cmp.Or(e.Advice, "set maxPods in the scenario"))
}

// CheckPods returns an error if workloads ask for more than most pods together, or if one asks for more than upstream's controllers can
// count. The API server accepts such workloads, and a real cluster fills up with pods until something breaks.
func CheckPods(s *cluster.State, most int) error {
	all, total, problems := podDemands(s, most)
	if total > int64(most) {
		largest := slices.MaxFunc(all, func(a, b podDemand) int { return cmp.Compare(a.pods, b.pods) })
		problems = append(problems, &TooManyPodsError{Owner: cluster.RefTo(largest.owner), Pods: largest.pods, Total: total, Most: most})
	}
	return errors.Join(problems...)
}

// CountPods returns how many pods the state will have: pods without a controller, and as many as controllers ask for.
func CountPods(s *cluster.State) int {
	_, total, _ := podDemands(s, 0)
	for _, pod := range s.Pods {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			total++
		}
	}
	return int(total)
}

// podDemand is the number of pods that a workload asks for.
type podDemand struct {
	owner cluster.Object
	pods  int64
}

// podDemands returns the number of pods that each workload asks for, and the sum. A DaemonSet counts for a pod on every node; only if the sum
// exceeds most is it the exact number of nodes that run its pods.
func podDemands(s *cluster.State, most int) (all []podDemand, total int64, problems []error) {
	count := func(owner cluster.Object, pods int64) {
		all = append(all, podDemand{owner, pods})
		total += pods
	}
	autoscalers := indexAutoscalers(s)
	for _, d := range s.Deployments {
		replicas := autoscalers.replicas("Deployment", d)
		count(d, replicas)
		if surge := int64(deploymentutil.MaxSurge(*d)); replicas <= int64(most) && replicas+surge > math.MaxInt32 {
			problems = append(problems, fmt.Errorf("%s: spec.strategy.rollingUpdate.maxSurge: with it there are %d pods; give a maxSurge with which there are at most %d",
				cluster.RefTo(d).Describe(), replicas+surge, math.MaxInt32))
		}
	}
	for _, set := range s.StatefulSets {
		replicas := autoscalers.replicas("StatefulSet", set)
		count(set, replicas)
		if ordinals := set.Spec.Ordinals; ordinals != nil && int64(ordinals.Start)+replicas > math.MaxInt32 {
			problems = append(problems, fmt.Errorf("%s: spec.ordinals.start: from %d on, %d pods cannot be numbered; give a start of at most %d",
				cluster.RefTo(set).Describe(), ordinals.Start, replicas, math.MaxInt32-replicas))
		}
	}
	for _, rs := range s.ReplicaSets {
		if metav1.GetControllerOfNoCopy(rs) == nil {
			count(rs, autoscalers.replicas("ReplicaSet", rs))
		}
	}
	for _, rc := range s.ReplicationControllers {
		count(rc, autoscalers.replicas("ReplicationController", rc))
	}
	for _, owner := range s.UnknownOwners {
		count(owner, int64(*owner.Spec.Replicas))
	}
	for _, job := range s.Jobs {
		if !ptr.Deref(job.Spec.Suspend, false) {
			parallelism := ptr.Deref(job.Spec.Parallelism, 1)
			count(job, int64(min(parallelism, ptr.Deref(job.Spec.Completions, parallelism))))
		}
	}
	for _, ds := range s.DaemonSets {
		count(ds, int64(len(s.Nodes)))
	}
	if total > int64(most) { // count the DaemonSets' nodes exactly
		for i := range all {
			if ds, ok := all[i].owner.(*appsv1.DaemonSet); ok {
				total -= all[i].pods
				all[i].pods = countDaemonPods(s, ds)
				total += all[i].pods
			}
		}
	}
	return all, total, problems
}

// countDaemonPods returns the number of nodes that run a pod of the DaemonSet.
func countDaemonPods(s *cluster.State, ds *appsv1.DaemonSet) (pods int64) {
	should := newDaemonNodeFilter(ds)
	for _, node := range s.Nodes {
		if run, _ := should(node); run {
			pods++
		}
	}
	return pods
}
