package upgrade

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
)

// Gate is a feature gate that differs between the releases and concerns objects of the input.
type Gate struct {
	Name string `json:"name"`
	// On is whether the gate is on in the later release.
	On bool `json:"on"`
	// Effect is what the gate does when it is on.
	Effect string `json:"effect"`
	// Objects are the objects that the gate concerns.
	Objects []cluster.Ref `json:"objects"`
}

// gateEffects has the gates that change placement, admission or defaults, with a test for the objects that each concerns.
var gateEffects = []struct {
	gates  []string
	effect string
	by     func(cluster.Object) bool
}{
	{[]string{"StorageCapacityScoring"}, "a volume to be provisioned prefers nodes by the storage that is left", typedWith[*storagev1.CSIStorageCapacity](nil)},
	{[]string{"VolumeLimitScaling"}, "a pod goes to no node that lacks the CSI driver of its volume", typedWith(func(d *storagev1.CSIDriver) bool { return ptr.Deref(d.Spec.PreventPodSchedulingIfMissing, false) })},
	{[]string{"MutableCSINodeAllocatableCount"}, "limits of volumes can change", typedWith(func(d *storagev1.CSIDriver) bool { return d.Spec.NodeAllocatableUpdatePeriodSeconds != nil })},
	{[]string{"NodeDeclaredFeatures"}, "a pod that needs a feature goes only to nodes that declare it", typedWith(func(n *v1.Node) bool { return len(n.Status.DeclaredFeatures) > 0 })},
	{[]string{"DRAExtendedResource"}, "devices of the class stand for an extended resource", typedWith(func(c *resourcev1.DeviceClass) bool { return c.Spec.ExtendedResourceName != nil })},
	{[]string{"DRADeviceTaints"}, "pods avoid devices with taints", typedWith(func(s *resourcev1.ResourceSlice) bool {
		return slices.ContainsFunc(s.Spec.Devices, func(d resourcev1.Device) bool { return len(d.Taints) > 0 })
	})},
	{[]string{"DRADeviceTaintRules"}, "the rule taints devices", typedWith[*resourcev1.DeviceTaintRule](nil)},
	{[]string{"DRAPartitionableDevices"}, "devices share counters", typedWith(func(s *resourcev1.ResourceSlice) bool { return len(s.Spec.SharedCounters) > 0 })},
	{[]string{"DRAConsumableCapacity"}, "several claims share a device", typedWith(func(s *resourcev1.ResourceSlice) bool {
		return slices.ContainsFunc(s.Spec.Devices, func(d resourcev1.Device) bool { return ptr.Deref(d.AllowMultipleAllocations, false) })
	})},
	{[]string{"DRADeviceBindingConditions"}, "pods wait until devices are ready", typedWith(func(s *resourcev1.ResourceSlice) bool {
		return slices.ContainsFunc(s.Spec.Devices, func(d resourcev1.Device) bool { return len(d.BindingConditions) > 0 })
	})},
	{[]string{"InPlacePodLevelResourcesVerticalScaling", "PodLevelResourcesFixDefaulting"}, "resources of a whole pod can change, and their defaults are corrected",
		podSpecWith(func(p *v1.PodSpec) bool { return p.Resources != nil })},
	{[]string{"ImageVolume"}, "pods can have images as volumes", podSpecWith(func(p *v1.PodSpec) bool {
		return slices.ContainsFunc(p.Volumes, func(v v1.Volume) bool { return v.Image != nil })
	})},
	{[]string{"HostnameOverride"}, "pods can have another host name", podSpecWith(func(p *v1.PodSpec) bool { return p.HostnameOverride != nil })},
	{[]string{"ContainerRestartRules"}, "containers can have rules for their restart", podSpecWith(func(p *v1.PodSpec) bool {
		return slices.ContainsFunc(slices.Concat(p.InitContainers, p.Containers), func(c v1.Container) bool { return len(c.RestartPolicyRules) > 0 })
	})},
	{[]string{"PodTopologyLabelsAdmission"}, "pods bound to the node get its zone and region as labels", typedWith(func(n *v1.Node) bool {
		return n.Labels[v1.LabelTopologyZone] != "" || n.Labels[v1.LabelTopologyRegion] != ""
	})},
	{[]string{"MutatingAdmissionPolicy"}, "the policy has an effect", func(obj cluster.Object) bool { return cluster.KindOf(obj) == "MutatingAdmissionPolicy" }},
	{[]string{"MaxUnavailableStatefulSet"}, "a rollout stops as many pods at once as maxUnavailable allows", typedWith(func(s *appsv1.StatefulSet) bool {
		return s.Spec.UpdateStrategy.RollingUpdate != nil && s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil
	})},
	{[]string{"HPAScaleToZero"}, "minReplicas can be 0", typedWith(func(h *autoscalingv2.HorizontalPodAutoscaler) bool { return ptr.Deref(h.Spec.MinReplicas, 1) == 0 })},
	{[]string{"HPAConfigurableTolerance"}, "the tolerance for scaling is the object's own", typedWith(func(h *autoscalingv2.HorizontalPodAutoscaler) bool {
		b := h.Spec.Behavior
		return b != nil && (b.ScaleUp != nil && b.ScaleUp.Tolerance != nil || b.ScaleDown != nil && b.ScaleDown.Tolerance != nil)
	})},
	{[]string{"MutablePodResourcesForSuspendedJobs", "MutableSchedulingDirectivesForSuspendedJobs"}, "resources and placement of the suspended Job can change",
		typedWith(func(j *batchv1.Job) bool { return ptr.Deref(j.Spec.Suspend, false) })},
}

// typedWith returns a test for objects of a type that have a property; nil means all objects of the type.
func typedWith[T cluster.Object](has func(T) bool) func(cluster.Object) bool {
	return func(obj cluster.Object) bool {
		typed, is := obj.(T)
		return is && (has == nil || has(typed))
	}
}

// podSpecWith returns a test, by the pod's spec, for pods and for objects with a template of pods.
func podSpecWith(has func(*v1.PodSpec) bool) func(cluster.Object) bool {
	return func(obj cluster.Object) bool {
		spec, _ := cluster.PodSpec(obj)
		return spec != nil && has(spec)
	}
}

// flippedGates returns the gates that differ between the releases and concern one of the objects.
func flippedGates(from, to sched.Release, objects []cluster.Object) ([]Gate, error) {
	before, err := from.Gates()
	if err != nil {
		return nil, err
	}
	after, err := to.Gates()
	if err != nil {
		return nil, err
	}
	var gates []Gate
	for _, t := range gateEffects {
		for _, name := range t.gates {
			if before[name] == after[name] {
				continue
			}
			found := map[cluster.Ref]bool{}
			for _, obj := range objects {
				if t.by(obj) {
					found[cluster.RefTo(obj)] = true
				}
			}
			if len(found) > 0 {
				gates = append(gates, Gate{name, after[name], t.effect, slices.SortedFunc(maps.Keys(found), cluster.Ref.Compare)})
			}
		}
	}
	return gates, nil
}

// findUnserved finds objects of Kubernetes' own groups whose API version this release does not know.
func (a *Answer) findUnserved(s *scenario.Scenario) {
	for _, ignored := range s.Ignored {
		version, err := schema.ParseGroupVersion(ignored.APIVersion)
		if err == nil && legacyscheme.Scheme.IsGroupRegistered(version.Group) && !legacyscheme.Scheme.IsVersionRegistered(version) {
			a.Unserved = append(a.Unserved, Unserved{ignored.APIVersion, cluster.Ref{Kind: ignored.Kind, Namespace: ignored.Namespace, Name: ignored.Name}})
		}
	}
}
