package cause

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// DevicePlugin is a DaemonSet that seems to report an extended resource, by its name, and the nodes that it does not run on since it does not tolerate their
// taints: these nodes have the devices, and nobody says so.
type DevicePlugin struct {
	*appsv1.DaemonSet
	Nodes  []*v1.Node
	Taints []v1.Taint
}

// FindDevicePlugin returns the device plugin of an extended resource that is kept off nodes; nil if there is none. A plugin's name has the vendor and the word
// plugin in it, as nvidia-device-plugin has for nvidia.com/gpu.
func FindDevicePlugin(state *cluster.State, name v1.ResourceName) *DevicePlugin {
	vendor, _, _ := strings.Cut(string(name), ".")
	for _, ds := range state.DaemonSets {
		if !strings.Contains(ds.Name, vendor) || !strings.Contains(ds.Name, "plugin") {
			continue
		}
		plugin := &DevicePlugin{DaemonSet: ds}
		pod := state.PodOf(ds)
		daemonutil.AddOrUpdateDaemonPodTolerations(&pod.Spec)
		for _, node := range state.Nodes {
			taint := cluster.Untolerated(node, pod)
			runs := slices.ContainsFunc(state.Pods, func(pod *v1.Pod) bool { return pod.Spec.NodeName == node.Name && metav1.IsControlledBy(pod, ds) })
			if taint == nil || runs || !cluster.Attracts(node, pod) || cluster.IsControlPlaneRole(taint.Key) { // a control plane has no devices
				continue
			}
			plugin.Nodes = append(plugin.Nodes, node)
			if !slices.ContainsFunc(plugin.Taints, func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value }) {
				plugin.Taints = append(plugin.Taints, *taint)
			}
		}
		if len(plugin.Nodes) > 0 {
			return plugin
		}
	}
	return nil
}

// TaintsText returns, for example, "dedicated=gpu:NoSchedule".
func (p *DevicePlugin) TaintsText() string {
	var all []string
	for i := range p.Taints {
		all = append(all, p.Taints[i].ToString())
	}
	return words.And(all)
}

// sentence returns, for example, "kube-system/daemonset/nvidia-device-plugin, which reports it, does not run on gpu-1 and gpu-2, whose taint
// dedicated=gpu:NoSchedule it does not tolerate".
func (p *DevicePlugin) sentence() string {
	var nodes []string
	for _, node := range p.Nodes {
		nodes = append(nodes, node.Name)
	}
	return fmt.Sprintf("%s, which reports it, does not run on %s, whose %s %s it does not tolerate", cluster.RefTo(p.DaemonSet).Qualified(), words.Few(nodes),
		words.Pick(len(p.Taints), "taint", "taints"), p.TaintsText())
}
