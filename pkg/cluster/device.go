package cluster

import resourcev1 "k8s.io/api/resource/v1"

// SelectsDevice reports whether the rule taints the device. See ruleMatchesDevice in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/devicetainteviction/device_taint_eviction.go.
func SelectsDevice(rule *resourcev1.DeviceTaintRule, driver, pool, device string) bool {
	selector := rule.Spec.DeviceSelector
	return selector != nil && (selector.Driver == nil || *selector.Driver == driver) && (selector.Pool == nil || *selector.Pool == pool) &&
		(selector.Device == nil || *selector.Device == device)
}
