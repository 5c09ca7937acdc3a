package cause

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// Occupancy is what the pods of a state hold on its nodes. It is not safe for concurrent use.
type Occupancy struct {
	// podsOn are the pods that the scheduler counts on each node: all that have not ended, including Terminating ones.
	podsOn map[string][]*v1.Pod
	// sums caches the sum of these pods' requests, for the nodes that somebody asked about.
	sums map[string]v1.ResourceList
}

// NewOccupancy returns what the pods hold.
func NewOccupancy(pods []*v1.Pod) *Occupancy {
	on := &Occupancy{podsOn: map[string][]*v1.Pod{}, sums: map[string]v1.ResourceList{}}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) {
			on.podsOn[pod.Spec.NodeName] = append(on.podsOn[pod.Spec.NodeName], pod)
		}
	}
	return on
}

// requestedOn returns the sum of the requests of the node's pods. It adds up each node once, since hundreds of pods can wait for the same
// nodes: for 500 pods on 1,000 nodes, adding up anew took 20 s.
func (o *Occupancy) requestedOn(node string) v1.ResourceList {
	sum, known := o.sums[node]
	if !known {
		sum = sumRequests(o.podsOn[node])
		o.sums[node] = sum
	}
	return sum
}

// HasRoomFor returns a function that reports whether a node has as much of every resource free as the pod asks for. The pods in gone count as
// if they had left.
func (o *Occupancy) HasRoomFor(pod *v1.Pod, gone ...*v1.Pod) func(*v1.Node) bool {
	asks, left := requestsOf(pod, false), sumRequests(gone)
	return func(node *v1.Node) bool {
		used := o.requestedOn(node.Name)
		for name, asked := range asks {
			free := node.Status.Allocatable[name].DeepCopy()
			free.Sub(used[name])
			free.Add(left[name])
			if !asked.IsZero() && free.Cmp(asked) < 0 {
				return false
			}
		}
		return true
	}
}

// MostFree is the most that one of the nodes has free of a resource.
func (o *Occupancy) MostFree(name v1.ResourceName, nodes []*v1.Node) resource.Quantity {
	most := resource.Quantity{}
	for _, node := range nodes {
		free := node.Status.Allocatable[name].DeepCopy()
		if free.Sub(o.requestedOn(node.Name)[name]); free.Cmp(most) > 0 {
			most = free
		}
	}
	return most
}

// requestsOf returns what the scheduler counts for a pod, as [podRequests] does, and the pod itself as 1 of the resource pods.
func requestsOf(pod *v1.Pod, runs bool) v1.ResourceList {
	asks := podRequests(pod, runs)
	asks[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return asks
}

func sumRequests(pods []*v1.Pod) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, pod := range pods {
		for name, quantity := range requestsOf(pod, true) {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}
