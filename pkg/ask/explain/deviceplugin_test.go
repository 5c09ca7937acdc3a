package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Node gpu-1 has GPUs, which nobody reports, since the device plugin does not tolerate its taint. Node n1 has none, by its name.
func TestDevicePluginThatIsKeptOff(t *testing.T) {
	const plugin = `  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-device-plugin}
    spec:
      selector: {matchLabels: {app: plugin}}
      template: {metadata: {labels: {app: plugin}}, spec: {containers: [{name: c, image: c}]}}
`
	tolerating := ", tolerations: [{key: dedicated, value: gpu, effect: NoSchedule}]"
	for name, test := range map[string]struct {
		objects string
		want    []string
	}{
		"a plugin that does not tolerate the taint": {plugin, []string{
			"tolerate dedicated=gpu:NoSchedule in daemonset/nvidia-device-plugin, which then reports nvidia.com/gpu: 0 (0) gpu-1"}},
		"no plugin": {"", []string{"have a device plugin report 1 nvidia.com/gpu on node gpu-1 (now 0): 0 (0) gpu-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := node("n1", "a", "") + node("gpu-1", "a", "taints: [{key: dedicated, value: gpu, effect: NoSchedule}]")
			result := simulated(t, "cluster:\n- objects:\n"+nodes+"workloads:\n- objects:\n"+test.objects+workload("Deployment", 1, "nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1", tolerating))
			fixes, _ := listFixes(t, result, "workloads")
			if diff := cmp.Diff(test.want, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
		})
	}
}
