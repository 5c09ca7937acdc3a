package cause

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// HostPort is a port that the pod asks of its host, and the pods that hold it.
type HostPort struct {
	Port     int32        `json:"port"`
	Protocol v1.Protocol  `json:"protocol"`
	HeldBy   []LocatedPod `json:"heldBy"`
}

// mostPorts is how many taken host ports have a cause; the sentence of the last one counts the others.
const mostPorts = 5

// hostPorts returns a cause for each host port that is taken on a node which NodePorts refuses.
func hostPorts(v *view, r refused) []Cause {
	held := map[int32][]heldPort{} // by number: comparing each port with each took a minute for pods with thousands
	for _, node := range r.nodes {
		for _, other := range v.podsOn[node.Name] {
			for _, port := range HostPortsOf(other) {
				held[port.HostPort] = append(held[port.HostPort], heldPort{port, LocatedPod{Pod: other.Namespace + "/" + other.Name, Node: node.Name}})
			}
		}
	}
	var causes []Cause
	more := 0
	for _, wanted := range HostPortsOf(v.pod) {
		fact := HostPort{Port: wanted.HostPort, Protocol: wanted.Protocol}
		for _, by := range held[wanted.HostPort] {
			last := len(fact.HeldBy) - 1 // the ports of a node are in a row, and one pod of it is enough
			if portsConflict(wanted, by.port) && (last < 0 || fact.HeldBy[last].Node != by.pod.Node) {
				fact.HeldBy = append(fact.HeldBy, by.pod)
			}
		}
		switch {
		case len(fact.HeldBy) == 0:
		case len(causes) == mostPorts:
			more++
		default:
			causes = append(causes, Cause{Plugin: "NodePorts", Nodes: len(fact.HeldBy), Sentence: fact.sentence(), HostPort: &fact})
		}
	}
	if more > 0 {
		causes[mostPorts-1].Sentence += fmt.Sprintf("; %s of its ports %s taken, too", words.Count(more, "other"), words.Pick(more, "is", "are"))
	}
	return causes
}

// heldPort is a port of the host that a pod holds.
type heldPort struct {
	port v1.ContainerPort
	pod  LocatedPod
}

// sentence returns, for example, "host port 9033/TCP is held by default/web-1 on w-1".
func (p *HostPort) sentence() string {
	return fmt.Sprintf("host port %d/%s is held by %s", p.Port, p.Protocol, words.Few(list.Map(p.HeldBy, func(held LocatedPod) string { return held.Pod + " on " + held.Node })))
}

// HostPortsOf returns the ports that the containers and sidecars of the pod take of the host, as in GetHostPorts of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/util/utils.go.
func HostPortsOf(pod *v1.Pod) []v1.ContainerPort {
	var ports []v1.ContainerPort
	appendOf := func(c *v1.Container) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				if port.Protocol == "" {
					port.Protocol = v1.ProtocolTCP
				}
				ports = append(ports, port)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			appendOf(c)
		}
	}
	for i := range pod.Spec.Containers {
		appendOf(&pod.Spec.Containers[i])
	}
	return ports
}

// portsConflict reports whether one host cannot provide both ports.
func portsConflict(wanted, held v1.ContainerPort) bool {
	taken := fwk.HostPortInfo{}
	taken.Add(held.HostIP, string(held.Protocol), held.HostPort)
	return taken.CheckConflict(wanted.HostIP, string(wanted.Protocol), wanted.HostPort)
}
