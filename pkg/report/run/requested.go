package run

import (
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// requested sums up the requests of the pods on each node, in the order of the nodes. It leaves out nodes without pods.
func requested(state *cluster.State) []Requested {
	milliCPU, memory := map[string]int64{}, map[string]int64{}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" || cluster.IsTerminal(pod) {
			continue
		}
		asks := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
		milliCPU[pod.Spec.NodeName] += asks.Cpu().MilliValue()
		memory[pod.Spec.NodeName] += asks.Memory().Value()
	}
	var all []Requested
	for _, node := range state.Nodes {
		if _, used := memory[node.Name]; used {
			all = append(all, Requested{Node: node.Name, CPU: float64(milliCPU[node.Name]) / 1000, Memory: memory[node.Name]})
		}
	}
	return all
}
