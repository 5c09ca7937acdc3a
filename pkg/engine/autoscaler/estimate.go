package autoscaler

import (
	"cmp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/engine/sched"
)

// HeldPods are pods for which an estimate ends although it may add nodes: the first of the pods does not fit onto another new node, for the
// reasons.
type HeldPods struct {
	Pods    []*v1.Pod
	Reasons []string
}

// estimateNodes returns how many new nodes of the template the pods would use, up to the limit, the pods that fit then, and the pods that do not
// although the limit allows more nodes. Groups of pods come by size, the largest first. Each pod goes onto the first new node with room,
// otherwise onto the newest node, otherwise onto another new one. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/estimator/binpacking_estimator.go.
func (l *loop) estimateNodes(groups []*podGroup, made *template, limit int) (nodes int, fit []*v1.Pod, held []HeldPods) {
	l.snapshot.Fork()
	defer l.snapshot.Revert()
	e := &packing{loop: l, made: made, limit: limit, added: map[string]bool{}, used: map[string]bool{}}
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b *podGroup) int {
		return cmp.Compare(requestedShare(b.pods[0], made.node), requestedShare(a.pods[0], made.node))
	})
	for _, group := range groups {
		pods := group.pods
		for len(pods) > 0 {
			node := l.snapshot.Find(pods[0], func(name string) bool { return e.added[name] })
			if node == "" {
				break
			}
			e.addPod(pods[0], node)
			pods = pods[1:]
		}
		if !e.full {
			e.packOntoNewNodes(pods)
		}
	}
	return len(e.used), e.fit, e.held
}

// packing is the state of an estimate in progress.
type packing struct {
	*loop
	made        *template
	limit       int
	newest      string
	added, used map[string]bool // nodes; used may also have an existing node
	fit         []*v1.Pod
	held        []HeldPods
	full        bool // no more nodes may be added
}

// addPod notes that the pod fits onto the node.
func (e *packing) addPod(pod *v1.Pod, node string) {
	e.used[node] = true
	e.fit = append(e.fit, pod)
}

// packOntoNewNodes puts the pods onto the newest node, and onto further new nodes, until a pod does not fit onto an empty one.
func (e *packing) packOntoNewNodes(pods []*v1.Pod) {
	for i, pod := range pods {
		if e.newest != "" {
			reasons, placed := e.snapshot.Place(pod, e.newest)
			if placed {
				e.addPod(pod, e.newest)
				continue
			}
			if isSpreadOverHosts(pod) && slices.Contains(reasons, sched.TooSkewed) {
				// Another node may have fewer pods, even an existing one.
				if node := e.snapshot.Find(pod, func(name string) bool { return name != e.newest }); node != "" {
					e.addPod(pod, node)
					continue
				}
			}
			if !e.used[e.newest] {
				e.held = append(e.held, HeldPods{pods[i:], reasons})
				return
			}
		}
		if len(e.added) >= e.limit {
			e.full = true
			return
		}
		e.newest = e.made.node.Name + "-e-" + strconv.Itoa(len(e.added))
		e.added[e.newest] = true
		node, own := e.made.newNode(e.newest)
		e.snapshot.AddNode(node, own...)
		if reasons, placed := e.snapshot.Place(pod, e.newest); !placed {
			e.held = append(e.held, HeldPods{pods[i:], reasons})
			return
		}
		e.addPod(pod, e.newest)
	}
}

func isSpreadOverHosts(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool { return c.TopologyKey == v1.LabelHostname })
}

// requestedShare returns the pod's share of the node's CPU plus its share of the node's memory.
func requestedShare(pod *v1.Pod, node *v1.Node) float64 {
	asked, has := podRequests(pod), node.Status.Allocatable
	score := 0.0
	if cpu := has.Cpu().MilliValue(); cpu > 0 {
		score += float64(asked.Cpu().MilliValue()) / float64(cpu)
	}
	if memory := has.Memory().Value(); memory > 0 {
		score += float64(asked.Memory().Value()) / float64(memory)
	}
	return score
}

// podRequests returns the pod's requests.
func podRequests(pod *v1.Pod) v1.ResourceList {
	return resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true})
}
