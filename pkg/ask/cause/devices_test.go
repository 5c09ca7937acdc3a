package cause_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// gpus are the DeviceClass gpu and the devices of w-1, gpu-0 with 40Gi and gpu-1 with 80Gi, and of w-2, gpu-0 with 80Gi and a taint.
const gpus = `  - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "d.example.com"'}}]}}
  - {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: w-1}, spec: {driver: d.example.com, nodeName: w-1, pool: {name: w-1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: {numa: {int: 0}}, capacity: {memory: {value: 40Gi}}}, {name: gpu-1, attributes: {numa: {int: 1}}, capacity: {memory: {value: 80Gi}}}]}}
  - {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: w-2}, spec: {driver: d.example.com, nodeName: w-2, pool: {name: w-2, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: {numa: {int: 0}}, capacity: {memory: {value: 80Gi}}, taints: [{key: broken, effect: NoSchedule}]}]}}
`

// claim returns a ResourceClaim with one or more requests.
func claim(name, requests, constraints string) string {
	return fmt.Sprintf("  - {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s}, spec: {devices: {requests: [%s], constraints: [%s]}}}\n", name, requests, constraints)
}

// claimingPod returns a pod with a claim that has the pod's name.
func claimingPod(name, more string) string {
	return pod(name, "", "1", fmt.Sprintf(", resourceClaims: [{name: c, resourceClaimName: %s}]%s", name, more))
}

// made is the end of the name of a claim that the scheduler makes.
var made = regexp.MustCompile(`-extended-resources-\w+ `)

func TestDeviceCauses(t *testing.T) {
	const large = `, selectors: [{cel: {expression: 'device.capacity["d.example.com"].memory.isGreaterThan(quantity("50Gi"))'}}]`
	const selector = `with device.capacity["d.example.com"].memory.isGreaterThan(quantity("50Gi"))`
	request := func(name, more string) string {
		return fmt.Sprintf("{name: %s, exactly: {deviceClassName: gpu%s}}", name, more)
	}
	const group = "  - {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n"
	for name, test := range map[string]struct {
		objects []string
		want    []string
	}{
		"two large devices, where w-1 has one that is large, and the one of w-2 is tainted": {
			[]string{gpus, claim("new", request("r", ", count: 2"+large), ""), claimingPod("new", "")},
			[]string{"2: claim default/new, request r: asks 2 devices of DeviceClass gpu " + selector + "; w-1 comes nearest: of its 2 devices 2 are of the class, 1 matches and 1 is free"},
		},
		"an attribute in single quotes that no device has": {
			[]string{gpus, claim("new", request("r", `, selectors: [{cel: {expression: "device.attributes['d.example.com'].numa == 7"}}]`), ""), claimingPod("new", "")},
			[]string{"2: claim default/new, request r: asks 1 device of DeviceClass gpu with device.attributes['d.example.com'].numa == 7; w-1 comes nearest: of its 2 devices 2 are of the class, 0 match (they have numa=0 and numa=1) and 0 are free"},
		},
		"a taint": {
			[]string{gpus, claim("new", request("r", ""), ""), claimingPod("new", ", nodeSelector: {disk: ssd}")},
			[]string{"1: claim default/new, request r: asks 1 device of DeviceClass gpu; w-2 comes nearest: of its 1 device 1 is of the class, 1 has a taint that the request does not tolerate (gpu-0: broken:NoSchedule) and 0 are free"},
		},
		"the only large device has another pod": {
			[]string{gpus, claim("first", request("r", large), ""), claimingPod("first", ""), claim("new", request("r", large), ""), claimingPod("new", "")},
			[]string{"2: claim default/new, request r: asks 1 device of DeviceClass gpu " + selector + "; w-1 comes nearest: of its 2 devices 2 are of the class, 1 matches and 0 are free; held by claim default/first of first"},
		},
		"two of an extended resource that the class stands for": {
			[]string{strings.Replace(gpus, "metadata: {name: gpu}, spec: {", "metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu, ", 1),
				strings.Replace(pod("first", "", "1", ""), "requests: {", "limits: {example.com/gpu: 1}, requests: {example.com/gpu: 1, ", 1),
				strings.Replace(pod("new", "", "1", ""), "requests: {", "limits: {example.com/gpu: 2}, requests: {example.com/gpu: 2, ", 1)},
			[]string{"2: extended resource example.com/gpu in container c: asks 2 devices of DeviceClass gpu; w-1 comes nearest: of its 2 devices 2 are of the class and 1 is free; held by claim default/first-extended-resources-HASH of first"},
		},
		"larger devices than w-1 and w-2 have": {
			[]string{gpus, claim("new", request("r", strings.Replace(large, "50Gi", "90Gi", 1)), ""), claimingPod("new", ", nodeSelector: {disk: hdd}")},
			[]string{"1: claim default/new, request r: asks 1 device of DeviceClass gpu " + strings.Replace(selector, "50Gi", "90Gi", 1) +
				"; w-1 comes nearest: of its 2 devices 2 are of the class, 0 match (they have memory=40Gi and memory=80Gi) and 0 are free"},
		},
		"all devices, of which one is taken": {
			[]string{gpus, claim("first", request("r", large), ""), claimingPod("first", ""), claim("new", request("r", ", allocationMode: All"), ""), claimingPod("new", "")},
			[]string{"2: claim default/new, request r: asks for all devices of DeviceClass gpu; w-1 comes nearest: of its 2 devices 2 are of the class and 1 is free; held by claim default/first of first"},
		},
		"two devices of one numa node, of which w-1 has one each": {
			[]string{gpus, claim("new", request("r", ", count: 2"), "{requests: [r], matchAttribute: d.example.com/numa}"), claimingPod("new", ", nodeSelector: {disk: hdd}")},
			[]string{"1: each request of its claims by itself finds enough devices on w-1, but no choice serves all of them at once; wanted are the same d.example.com/numa for requests r"},
		},
		"a class that does not exist": {
			[]string{gpus, claim("new", "{name: r, exactly: {deviceClassName: tpu}}", ""), claimingPod("new", "")},
			[]string{"0: claim default/new, request r: DeviceClass tpu does not exist"},
		},
		"a pool of which a slice is missing": {
			[]string{strings.Replace(gpus, "name: w-1, generation: 1, resourceSliceCount: 1", "name: w-1, generation: 1, resourceSliceCount: 2", 1), claim("new", request("r", ""), ""), claimingPod("new", ", nodeSelector: {disk: hdd}")},
			[]string{"1: claim default/new, request r: asks 1 device of DeviceClass gpu; w-1 comes nearest: its devices are all of d.example.com/w-1, of which a ResourceSlice is missing"},
		},
		"the first available of two": {
			[]string{gpus, claim("first", request("r", ", count: 2"), ""), claimingPod("first", ""),
				claim("new", "{name: r, firstAvailable: [{name: large, deviceClassName: gpu"+large+"}, {name: any, deviceClassName: gpu}]}", ""), claimingPod("new", ", nodeSelector: {disk: hdd}")},
			[]string{"1: claim default/new, request r: large asks 1 device of DeviceClass gpu " + selector + "; w-1 comes nearest: of its 2 devices 2 are of the class, 1 matches and 0 are free; held by claim default/first of first; " +
				"any asks 1 device of DeviceClass gpu; of its 2 devices 2 are of the class and 0 are free; held by claim default/first of first"},
		},
		"a claim whose device is on another node": {
			[]string{gpus, claim("shared", request("r", large), ""), pod("first", "", "4", ", resourceClaims: [{name: c, resourceClaimName: shared}]"), pod("new", "", "1", ", resourceClaims: [{name: c, resourceClaimName: shared}]")},
			[]string{"1: claim default/shared has d.example.com/w-1/gpu-1, which only w-1 reaches; as long as first uses it, every pod that shares the claim must run there"},
		},
		"the first pod of a gang takes the device that the second needs": {
			[]string{gpus, group, claim("first", request("r", large), ""), claimingPod("first", ", schedulingGroup: {podGroupName: train}"), claim("new", request("r", large), ""), claimingPod("new", ", schedulingGroup: {podGroupName: train}")},
			[]string{"0: PodGroup default/train wants nodes for 2 pods at once; first would fit, new does not fit",
				"2: claim default/new, request r: asks 1 device of DeviceClass gpu " + selector + "; w-1 comes nearest: of its 2 devices 2 are of the class, 1 matches and 0 are free; held by claim default/first of first"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, found := causesOfGroups(t, test.objects...)
			var got []string
			for _, p := range result.Steps[0].Pending {
				for _, c := range found[0][cluster.NameOf(p.Pod)] {
					if p.Pod.Name == "new" && (c.Plugin == "DynamicResources" || c.Plugin == "GangScheduling") {
						got = append(got, fmt.Sprintf("%d: %s", c.Nodes, made.ReplaceAllString(c.Sentence, "-extended-resources-HASH ")))
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
