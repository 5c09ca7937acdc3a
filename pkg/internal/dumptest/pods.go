package dumptest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// podSpec returns the spec of a pod as its owner has it.
func podSpec(cpu, memory string) v1.PodSpec {
	spec := v1.PodSpec{
		Containers: []v1.Container{{
			Name: "main", Image: "registry.example.com/app:1.2.3", ImagePullPolicy: v1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
			Ports: []v1.ContainerPort{{ContainerPort: 8080, Protocol: v1.ProtocolTCP}},
		}},
		DNSPolicy: v1.DNSClusterFirst, RestartPolicy: v1.RestartPolicyAlways, SchedulerName: v1.DefaultSchedulerName,
		SecurityContext: &v1.PodSecurityContext{}, TerminationGracePeriodSeconds: ptr.To[int64](30),
	}
	if cpu != "" {
		spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	return spec
}

// withLimitsOnly turns the requests into limits, as in many charts that set only limits.
func withLimitsOnly(spec v1.PodSpec) v1.PodSpec {
	container := &spec.Containers[0]
	container.Resources = v1.ResourceRequirements{Limits: container.Resources.Requests}
	return spec
}

// addPod adds a running pod, or a Pending pod if node is empty, as the API server and the kubelet leave it.
func (c *dumpBuilder) addPod(meta metav1.ObjectMeta, spec v1.PodSpec, node string, newer ...string) {
	c.podCount++
	spec = *spec.DeepCopy()
	main := &spec.Containers[0]
	for name, quantity := range main.Resources.Limits {
		if _, given := main.Resources.Requests[name]; !given {
			if main.Resources.Requests == nil {
				main.Resources.Requests = v1.ResourceList{}
			}
			main.Resources.Requests[name] = quantity
		}
	}
	spec.NodeName, spec.EnableServiceLinks, spec.ServiceAccountName, spec.DeprecatedServiceAccount = node, ptr.To(true), "default", "default"
	spec.PreemptionPolicy = ptr.To(v1.PreemptLowerPriority)
	if spec.Priority == nil {
		spec.Priority = ptr.To[int32](0)
	}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)})
	}
	volume := fmt.Sprintf("kube-api-access-%05d", c.podCount)
	spec.Volumes = append(spec.Volumes, v1.Volume{Name: volume, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](420),
		Sources:     []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3607), Path: "token"}}},
	}}})
	main.VolumeMounts = append(main.VolumeMounts, v1.VolumeMount{Name: volume, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
	pod := &v1.Pod{ObjectMeta: meta, Spec: spec}
	pod.CreationTimestamp = minutesAfterStart(100 + c.podCount)
	started := metav1.NewTime(pod.CreationTimestamp.Add(2e9))
	if node == "" {
		c.pendingCount++
		pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBurstable, Conditions: []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: "0/120 nodes are available", LastTransitionTime: started,
		}}}
		c.appendObject("v1", "Pod", pod, newer...)
		return
	}
	condition := func(of v1.PodConditionType) v1.PodCondition {
		return v1.PodCondition{Type: of, Status: v1.ConditionTrue, LastTransitionTime: started}
	}
	pod.Status = v1.PodStatus{
		Phase: v1.PodRunning, QOSClass: v1.PodQOSBurstable, StartTime: &started, PodIP: fmt.Sprintf("10.100.%d.%d", c.podCount/250, c.podCount%250), HostIP: "10.0.0.1",
		Conditions: []v1.PodCondition{condition(v1.PodReadyToStartContainers), condition(v1.PodInitialized), condition(v1.PodReady), condition(v1.ContainersReady), condition(v1.PodScheduled)},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", Image: main.Image, ImageID: "sha256:0", Ready: true, Started: ptr.To(true),
			ContainerID: "containerd://1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}},
			Resources: main.Resources.DeepCopy(), AllocatedResources: main.Resources.Requests}},
	}
	if free := c.free[node]; free != nil {
		free.subtractPod(&spec)
	}
	if c.podCount%400 == 399 { // the pod's deletion was requested, but it still runs
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(minutesAfterStart(9000)), ptr.To[int64](30)
	}
	c.appendObject("v1", "Pod", pod, newer...)
}

func (r *freeRoom) subtractPod(spec *v1.PodSpec) {
	for i := range spec.Containers {
		requests := spec.Containers[i].Resources.Requests
		devices := requests["nvidia.com/gpu"]
		r.cpu -= requests.Cpu().MilliValue()
		r.memory -= requests.Memory().Value()
		r.gpu -= devices.Value()
	}
	r.pods--
}

// randomNodeFor returns a random node that takes the pod and is not to be avoided, or "" if there is none. A random node stands for a node that
// was the best when the pod came.
func (c *dumpBuilder) randomNodeFor(spec v1.PodSpec, avoid map[string]bool) string {
	if limits := spec.Containers[0].Resources.Limits; spec.Containers[0].Resources.Requests == nil && limits != nil {
		spec = *spec.DeepCopy()
		spec.Containers[0].Resources.Requests = limits
	}
	selector := labels.SelectorFromSet(spec.NodeSelector)
	takes := func(node *v1.Node) bool {
		left := *c.free[node.Name]
		left.subtractPod(&spec)
		tainted := len(node.Spec.Taints) > 0 && (len(spec.Tolerations) == 0 || node.Spec.Taints[0].Key != spec.Tolerations[0].Key)
		return !tainted && !avoid[node.Name] && selector.Matches(labels.Set(node.Labels)) && left.cpu >= 0 && left.memory >= 0 && left.gpu >= 0 && left.pods >= 0
	}
	for range 1000 {
		if node := c.nodes[c.rand.IntN(len(c.nodes))]; takes(node) {
			return node.Name
		}
	}
	for _, node := range c.nodes {
		if takes(node) {
			return node.Name
		}
	}
	return ""
}
