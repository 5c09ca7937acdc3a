package peak

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// snapshot is the cluster before the peak, with which later states are compared.
type snapshot struct {
	state         *cluster.State
	crews         map[cluster.Ref]cluster.WorkloadPods
	missing       map[cluster.Ref]int
	pods, pending int
	// balloons are the Deployments of changes whose pods do not count.
	balloons map[cluster.Ref]bool
}

func newSnapshot(step *simulation.Step) *snapshot {
	s := &snapshot{state: step.State, crews: step.State.PodsByWorkload(), balloons: map[cluster.Ref]bool{}}
	s.missing = countMissing(step, s.crews)
	for owner := range s.crews {
		s.pods += len(s.crews[owner].Placed) + len(s.crews[owner].Waiting)
		s.pending += len(s.crews[owner].Waiting)
	}
	for _, n := range s.missing {
		s.pods += n
	}
	return s
}

// countMissing returns how many pods of each workload do not exist although they should: the API server refuses them, or the controller
// waits for another pod first, as that of a StatefulSet does. A pod that keeps its name, and is still Terminating on a lost node, is not
// missing: nothing replaces it.
func countMissing(step *simulation.Step, crews map[cluster.Ref]cluster.WorkloadPods) map[cluster.Ref]int {
	missing := map[cluster.Ref]int{}
	leaving := map[cluster.Ref]int{}
	owner := step.State.Owners()
	for _, pod := range step.State.Pods {
		of := owner(pod)
		if _, lasts := cluster.Identity(of, pod); lasts && pod.DeletionTimestamp != nil && !cluster.IsTerminal(pod) {
			leaving[of]++
		}
	}
	desired := step.State.Desired()
	for of, n := range desired {
		if lacks := n - len(crews[of].Placed) - len(crews[of].Waiting) - leaving[of]; lacks > 0 {
			missing[of] = lacks
		}
	}
	for _, r := range step.Refused {
		if _, counted := desired[r.Ref]; !counted && r.Pods > 0 {
			missing[r.Ref] += r.Pods
		}
	}
	return missing
}

// shortage are the pods of one workload that have no node.
type shortage struct {
	pending []*v1.Pod
	missing int
	// lost is how many of these replace pods that ran before.
	lost int
}

// count returns the number of pods; the shortage may be nil.
func (s *shortage) count() int {
	if s == nil {
		return 0
	}
	return len(s.pending) + s.missing
}

// outcome is a cluster at the peak or after a loss, compared with the one before.
type outcome struct {
	result     *simulation.Result
	step       *simulation.Step
	state      *cluster.State
	pods       int
	short      int
	notCreated int
	// stillPending are Pending pods in whose place a pod was Pending before.
	stillPending int
	shortages    map[cluster.Ref]*shortage
	newly        map[types.UID]bool
	room         []Room
}

// newOutcome compares the last step of the result with the snapshot.
func (s *snapshot) newOutcome(result *simulation.Result) *outcome {
	step := result.Last()
	o := &outcome{result: result, step: step, state: step.State, shortages: map[cluster.Ref]*shortage{}, newly: map[types.UID]bool{}, room: freeShares(step.State)}
	crews := step.State.PodsByWorkload()
	for owner := range crews {
		if !s.balloons[owner] {
			o.pods += len(crews[owner].Placed) + len(crews[owner].Waiting)
			o.stillPending += len(crews[owner].Waiting)
		}
	}
	for _, short := range cluster.Shortfalls(s.crews, step.State) {
		if s.balloons[short.Ref] {
			continue
		}
		o.shortages[short.Ref] = &shortage{pending: short.Pending, lost: short.Lost}
		o.stillPending -= len(short.Pending)
		for _, pod := range short.Pending {
			o.newly[pod.UID] = true
		}
	}
	for owner, n := range countMissing(step, crews) {
		if s.balloons[owner] {
			continue
		}
		o.pods += n
		if n -= s.missing[owner]; n > 0 {
			if o.shortages[owner] == nil {
				o.shortages[owner] = &shortage{}
			}
			o.shortages[owner].missing = n
			o.notCreated += n
		}
	}
	for owner, short := range o.shortages {
		if short.missing > 0 {
			short.lost = min(s.crews[owner].CountLost(owner, crews[owner]), short.count())
		}
		o.short += short.count()
	}
	return o
}

// countUnreplaced returns the number of pods of the first outcome that nothing replaces in the second, without pods of DaemonSets, which
// live and die with their nodes, and pods whose work is lost.
func countUnreplaced(before, after *outcome) int {
	was, is := before.state.PodsByWorkload(), after.state.PodsByWorkload()
	losesWork := before.state.LosesWork()
	n := 0
	for owner, crew := range was {
		if owner.Kind == "DaemonSet" || slices.ContainsFunc(slices.Collect(maps.Values(crew.Placed)), losesWork) {
			continue
		}
		waits := after.shortages[owner].count() - before.shortages[owner].count()
		n += max(0, crew.CountLost(owner, is[owner])-max(0, waits))
	}
	return n
}

// countRunning returns the number of running pods of a workload. A workload that a controller of an unknown kind made counts by that
// controller.
func (f *finder) countRunning(counts map[cluster.Ref]cluster.PodCount, of cluster.Ref) int {
	return counts[f.crewOf(of)].Running
}

// countNodes returns the number of nodes of the group.
func countNodes(state *cluster.State, group *scenario.AutoscaledGroup) int {
	return list.Count(state.Nodes, group.Has)
}

// freeShares returns the share of CPU and memory that is free on the nodes that take new pods, the scarcest first.
func freeShares(state *cluster.State) []Room {
	control := cluster.ControlPlanes(state.Nodes, state.Pods)
	has, asked := map[v1.ResourceName]float64{}, map[v1.ResourceName]float64{}
	takes := map[string]bool{}
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	for _, node := range state.Nodes {
		if control[node.Name] || node.Spec.Unschedulable || !cluster.KubeletResponds(node) {
			continue
		}
		takes[node.Name] = true
		for _, name := range names {
			has[name] += node.Status.Allocatable.Name(name, "").AsApproximateFloat64()
		}
	}
	for _, pod := range state.Pods {
		if takes[pod.Spec.NodeName] && !cluster.IsTerminal(pod) {
			requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
			for _, name := range names {
				asked[name] += requests.Name(name, "").AsApproximateFloat64()
			}
		}
	}
	var all []Room
	for _, name := range names {
		if has[name] > 0 {
			all = append(all, Room{string(name), max(0, 1-asked[name]/has[name])})
		}
	}
	slices.SortStableFunc(all, func(a, b Room) int { return cmp.Compare(a.Free, b.Free) })
	return all
}
