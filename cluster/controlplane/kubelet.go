package controlplane

import (
	"fmt"
	"hash/fnv"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// kubernetesVersion is the version of the API server and of the kubelets.
const kubernetesVersion = "v1.37.1"

// kubelet adds to objects what kubelets report and a world does not need: addresses, versions, and the states of containers.
type kubelet struct {
	addresses map[types.UID]string // of nodes and pods
	nodes     int
	pods      int
	// loops has the pods whose containers are started again and again, as they were stored.
	loops map[cluster.Ref]loop
}

func newKubelet() kubelet {
	return kubelet{addresses: map[types.UID]string{}, loops: map[cluster.Ref]loop{}}
}

// complete completes the status of a node or a pod as its kubelet would report it. What the status already says stays.
func (k *kubelet) complete(obj cluster.Object, p *Plane) {
	switch o := obj.(type) {
	case *v1.Node:
		k.completeNode(o)
	case *v1.Pod:
		k.completePod(o, p)
	}
}

func (k *kubelet) completeNode(node *v1.Node) {
	if len(node.Status.Addresses) == 0 {
		node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: k.hostAddress(node)}, {Type: v1.NodeHostName, Address: node.Name}}
	}
	reportReady(node, node.CreationTimestamp)
	info := &node.Status.NodeInfo
	if info.KubeletVersion == "" {
		info.KubeletVersion, info.OSImage, info.KernelVersion, info.ContainerRuntimeVersion = kubernetesVersion, "Faultline", "none", "none"
		info.OperatingSystem, info.Architecture = "linux", "amd64"
	}
}

// hostAddress returns the node's internal address.
func (k *kubelet) hostAddress(node *v1.Node) string {
	for _, known := range node.Status.Addresses {
		if known.Type == v1.NodeInternalIP {
			return known.Address
		}
	}
	if k.addresses[node.UID] == "" {
		k.nodes++
		k.addresses[node.UID] = address(172, 18, k.nodes+1)
	}
	return k.addresses[node.UID]
}

// register makes a node ready that somebody has created without a status, as the start of its kubelet would. It reports whether it was such a
// node.
func (k *kubelet) register(node *v1.Node, now metav1.Time) bool {
	if !reportReady(node, now) {
		return false
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == v1.TaintNodeNotReady })
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	if node.Labels[v1.LabelHostname] == "" {
		metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelHostname, node.Name)
	}
	return true
}

// reportReady adds the condition that the node is ready, and reports whether it had none.
func reportReady(node *v1.Node, since metav1.Time) bool {
	if slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady }) {
		return false
	}
	node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
		Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastHeartbeatTime: since, LastTransitionTime: since,
	})
	return true
}

func (k *kubelet) completePod(pod *v1.Pod, p *Plane) {
	status := &pod.Status
	if pod.Spec.NodeName == "" {
		reportGated(pod)
		if message := p.messages[pod.UID]; message != "" && !cluster.IsTerminal(pod) {
			*pod = *cluster.WithCondition(pod, v1.PodCondition{
				Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message, LastTransitionTime: p.at,
			})
			_, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled)
			condition.Message = message
		}
		return
	}
	if status.Phase == v1.PodPending && status.StartTime == nil && len(status.Conditions) == 0 {
		return // bound, and not yet seen by its kubelet
	}
	status.ObservedGeneration = pod.Generation
	if status.HostIP == "" {
		if node := p.state.Node(pod.Spec.NodeName); node != nil {
			status.HostIP = k.hostAddress(node)
			status.HostIPs = []v1.HostIP{{IP: status.HostIP}}
		}
	}
	if status.PodIP == "" && pod.Spec.HostNetwork && status.HostIP != "" {
		status.PodIP, status.PodIPs = status.HostIP, []v1.PodIP{{IP: status.HostIP}}
	}
	if status.PodIP == "" && !pod.Spec.HostNetwork {
		if k.addresses[pod.UID] == "" {
			k.pods++
			k.addresses[pod.UID] = address(10, 244, k.pods+1)
		}
		status.PodIP = k.addresses[pod.UID]
		status.PodIPs = []v1.PodIP{{IP: status.PodIP}}
	}
	if len(status.ContainerStatuses) == 0 || status.ContainerStatuses[0].ContainerID == "" && cluster.IsTerminal(pod) {
		status.ContainerStatuses = p.containerStatuses(pod, pod.Spec.Containers, false)
		status.InitContainerStatuses = p.containerStatuses(pod, pod.Spec.InitContainers, true)
		p.noteLoop(pod)
	}
}

// reportGated adds the condition with which the API server says that the pod's gates keep it from the scheduler, as in applySchedulingGatedCondition
// in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
func reportGated(pod *v1.Pod) {
	if _, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); condition != nil || len(pod.Spec.SchedulingGates) == 0 {
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
	})
}

// containerStatuses returns the states of containers of a pod, as the pod's phase and readiness imply them.
func (p *Plane) containerStatuses(pod *v1.Pod, containers []v1.Container, init bool) []v1.ContainerStatus {
	var all []v1.ContainerStatus
	ended := metav1.Time{}
	if condition := podutil.GetPodReadyCondition(pod.Status); condition != nil {
		ended = condition.LastTransitionTime
	}
	ready := podutil.IsContainersReadyConditionTrue(pod.Status)
	var started metav1.Time
	if pod.Status.StartTime != nil {
		started = pod.Status.StartTime.Rfc3339Copy()
	}
	for i := range containers {
		c := &containers[i]
		runs := !init || c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		status := v1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image}
		id := containerID(pod, c.Name)
		switch {
		case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodRunning && !runs:
			status.ContainerID, status.Ready = id, !runs
			status.State.Terminated = &v1.ContainerStateTerminated{Reason: "Completed", StartedAt: started, FinishedAt: ended, ContainerID: id}
			if !init {
				status.Started = new(false)
			}
		case pod.Status.Phase == v1.PodFailed:
			status.ContainerID, status.Started = id, new(false)
			status.State.Terminated = &v1.ContainerStateTerminated{Reason: "Error", ExitCode: 137, StartedAt: started, FinishedAt: ended, ContainerID: id}
			if known, is := podutil.GetContainerStatus(pod.Status.ContainerStatuses, c.Name); is && known.State.Terminated != nil {
				status.State.Terminated = known.State.Terminated.DeepCopy()
				status.State.Terminated.ContainerID = id
			}
		case !init && p.reportRestarts(pod, c, &status):
		case pod.Status.Phase == v1.PodRunning:
			status.ContainerID, status.Ready, status.Started = id, ready, new(true)
			status.State.Running = &v1.ContainerStateRunning{StartedAt: started}
		case p.state.Containers.Lacks(c.Image):
			status.Started = new(false)
			status.State.Waiting = &v1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: fmt.Sprintf("Back-off pulling image %q", c.Image)}
		default:
			status.Started = new(false)
			status.State.Waiting = &v1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		all = append(all, status)
	}
	return all
}

// containerID returns an identifier that looks like a runtime's.
func containerID(pod *v1.Pod, container string) string {
	hash := fnv.New128a()
	fmt.Fprintf(hash, "%s/%s", pod.UID, container)
	return fmt.Sprintf("faultline://%x", hash.Sum(nil))
}

// address returns the n-th address that begins with two numbers.
func address(a, b, n int) string { return fmt.Sprintf("%d.%d.%d.%d", a, b, n/256%256, n%256) }
