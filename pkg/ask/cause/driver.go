package cause

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// MissingDrivers returns a note for each driver that some of the placed pods would lack: a pod has a volume of the driver, and the CSINode
// of its node does not list the driver, while CSINodes of other nodes do. kube-scheduler places such a pod, unless the CSIDriver sets
// preventPodSchedulingIfMissing, and applies no volume limit there; the kubelet then waits for the driver. A cluster without CSINodes of
// the driver, such as a generated one, has no notes.
func MissingDrivers(state *cluster.State, placed []*v1.Pod) []string {
	if len(state.CSINodes) == 0 {
		return nil
	}
	has := map[string]map[string]bool{} // driver → nodes
	for _, csi := range state.CSINodes {
		for _, driver := range csi.Spec.Drivers {
			if has[driver.Name] == nil {
				has[driver.Name] = map[string]bool{}
			}
			has[driver.Name][csi.Name] = true
		}
	}
	v := &view{state: state}
	type missing struct{ driver, pod, node string }
	var found []missing
	for _, pod := range placed {
		if len(pod.Spec.Volumes) == 0 {
			continue
		}
		for _, driver := range v.driversOf(pod) {
			if has[driver] != nil && !has[driver][pod.Spec.NodeName] {
				found = append(found, missing{driver, pod.Namespace + "/" + pod.Name, pod.Spec.NodeName})
			}
		}
	}
	return list.Map(list.GroupBy(found, func(m missing) string { return m.driver }), func(group []missing) string {
		n := len(group)
		pods := list.Map(group, func(m missing) string { return m.pod })
		nodes := list.Distinct(list.Map(group, func(m missing) string { return m.node }))
		return fmt.Sprintf("%s would not start on %s: the CSINode there does not list driver %s, which %s volume needs; kube-scheduler does not look, and here %s.",
			words.Few(pods), words.Few(nodes), group[0].driver, words.Pick(n, "its", "their"), words.Pick(n, "it runs", "they run"))
	})
}

// driversOf returns the CSI drivers of the pod's volumes, each once.
func (v *view) driversOf(pod *v1.Pod) []string {
	var drivers []string
	for i := range pod.Spec.Volumes {
		if csi := pod.Spec.Volumes[i].CSI; csi != nil {
			drivers = append(drivers, csi.Driver)
		}
	}
	_, claims := v.claimsOf(pod)
	for _, claim := range claims {
		if driver, _ := v.driverOf(claim); driver != "" {
			drivers = append(drivers, driver)
		}
	}
	slices.Sort(drivers)
	return slices.Compact(drivers)
}
