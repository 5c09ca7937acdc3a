package dumptest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// pool is a type of machine.
type pool struct {
	name              string
	cpu, memory, gpus int64 // cores, GiB
	taint             string
}

var (
	controlPlanePool = pool{"control-plane", 4, 16, 0, "node-role.kubernetes.io/control-plane"}
	generalPool      = pool{"general", 16, 64, 0, ""}
	memoryPool       = pool{"memory", 8, 128, 0, ""}
	gpuPool          = pool{"gpu", 16, 128, 4, "nvidia.com/gpu"}
)

func (c *dumpBuilder) addInfrastructure(nodes int) {
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "shop", "data", "ml"} {
		meta := c.newMeta("", name, map[string]string{v1.LabelMetadataName: name})
		c.appendObject("v1", "Namespace", &v1.Namespace{ObjectMeta: meta, Spec: v1.NamespaceSpec{Finalizers: []v1.FinalizerName{"kubernetes"}}, Status: v1.NamespaceStatus{Phase: v1.NamespaceActive}})
	}
	for name, value := range map[string]int32{"high": 1000} {
		c.appendObject("scheduling.k8s.io/v1", "PriorityClass", &schedulingv1.PriorityClass{ObjectMeta: c.newMeta("", name, nil), Value: value, PreemptionPolicy: ptr.To(v1.PreemptLowerPriority)})
	}
	class := c.newMeta("", "gp3", nil)
	class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	c.appendObject("storage.k8s.io/v1", "StorageClass", &storagev1.StorageClass{ObjectMeta: class, Provisioner: "ebs.csi.aws.com",
		ReclaimPolicy: ptr.To(v1.PersistentVolumeReclaimDelete), VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)})
	for i, kind := range c.levers.choosePools(nodes) {
		c.addNode(i, kind)
	}
}

// addNode adds a machine. Machine 20 is cordoned, and machine 10 has a newer field.
func (c *dumpBuilder) addNode(i int, of pool) {
	zone := i % 3
	name := fmt.Sprintf("ip-10-0-%d-%d", zone, i)
	list := func(cpu, memory int64) v1.ResourceList {
		resources := v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
			v1.ResourcePods: resource.MustParse("110"), v1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		}
		if of.gpus > 0 {
			resources["nvidia.com/gpu"] = *resource.NewQuantity(of.gpus, resource.DecimalSI)
		}
		return resources
	}
	node := &v1.Node{
		ObjectMeta: c.newMeta("", name, map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("eu-1%c", 'a'+zone), v1.LabelTopologyRegion: "eu-1",
			v1.LabelInstanceTypeStable: "m6." + of.name, "pool": of.name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		}),
		Spec: v1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 100+i/250, i%250), PodCIDRs: []string{fmt.Sprintf("10.%d.%d.0/24", 100+i/250, i%250)},
			ProviderID: fmt.Sprintf("aws:///eu-1%c/i-%08x", 'a'+zone, i)},
		Status: v1.NodeStatus{
			Capacity: list(of.cpu*1000, of.memory<<30), Allocatable: list(of.cpu*1000-200, of.memory<<30-1<<30),
			Conditions: []v1.NodeCondition{
				{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, LastHeartbeatTime: minutesAfterStart(9000), LastTransitionTime: minutesAfterStart(1), Reason: "KubeletHasSufficientMemory"},
				{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: minutesAfterStart(9000), LastTransitionTime: minutesAfterStart(1), Reason: "KubeletReady", Message: "kubelet is posting ready status"},
			},
			Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", zone, i%250)}, {Type: v1.NodeHostName, Address: name}},
			NodeInfo:  v1.NodeSystemInfo{KubeletVersion: "v1.37.1", ContainerRuntimeVersion: "containerd://2.1.4", OperatingSystem: "linux", Architecture: "amd64"},
			Images:    []v1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}, SizeBytes: 320368}},
		},
	}
	if strings.HasPrefix(of.taint, "team-") {
		node.Labels["team"] = of.taint
	}
	if of.taint != "" {
		node.Spec.Taints = []v1.Taint{{Key: of.taint, Effect: v1.TaintEffectNoSchedule}}
	}
	var newer []string
	switch i {
	case 10:
		newer = []string{NewNodeField}
	case 20:
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule, TimeAdded: ptr.To(minutesAfterStart(8000))})
	}
	c.nodes = append(c.nodes, node)
	c.free[name] = &freeRoom{cpu: of.cpu*1000 - 200, memory: (of.memory - 1) << 30, gpu: of.gpus, pods: 110}
	c.appendObject("v1", "Node", node, newer...)
	c.appendObject("storage.k8s.io/v1", "CSINode", &storagev1.CSINode{
		ObjectMeta: c.newMeta("", name, nil),
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "i-" + name, TopologyKeys: []string{v1.LabelTopologyZone},
			Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](25)}}}},
	})
}

func nodeAffinityTo(node string) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}}
}
