package report

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/simulation"
)

// CapacityKind is the kind of a report on how much more fits.
const CapacityKind = "CapacityReport"

// CapacityReport is how many more replicas fit before the first pod stays Pending, and what keeps the next from it.
type CapacityReport struct {
	Head
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Mode is how nodes fail, where failures are to be survived.
	Mode string `json:"mode,omitempty"`
	// Mixes are the workloads, each by itself, or the mixes that were asked for.
	Mixes []CapacityMix `json:"mixes"`
	// Largest are the largest pods that fit on some node that takes pods without tolerations, by CPU and by memory, as the cluster is now.
	Largest []CapacityPod `json:"largest,omitempty"`
}

// CapacityMix is how much more of a mix of workloads fits, mostly of a single one.
type CapacityMix struct {
	// Name is the workload, as kind/name in lower case, or the mix.
	Name string `json:"name"`
	// Workloads are the mix: a unit holds so many replicas of each.
	Workloads []CapacityShare `json:"workloads"`
	// Fit is how many more units fit while no node fails.
	Fit CapacityLimit `json:"fit"`
	// Survive is how many more do so that, whichever domain of a level fails, every lost pod comes back.
	Survive []CapacityLimit `json:"survive,omitempty"`
	// Headroom is what becomes of the free resources.
	Headroom []CapacityHeadroom `json:"headroom,omitempty"`
}

// CapacityShare is a workload of a mix.
type CapacityShare struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Proportion is the number of its replicas in a unit.
	Proportion int `json:"proportion"`
	// Now is the number of replicas that it asks for.
	Now int `json:"now"`
}

// CapacityLimit is the largest number of further units that fit.
type CapacityLimit struct {
	// Level is the topology key of which any one domain may fail; missing where none fails.
	Level string `json:"level,omitempty"`
	// More is the number of units. It is 0 with Short where not even the replicas that are asked for now fit, or come back.
	More  int  `json:"more"`
	Short bool `json:"short,omitempty"`
	// Capped tells that the search ended at More, while more might fit.
	Capped bool `json:"capped,omitempty"`
	// Domain is the domain whose failure binds first; Stranded is how many pods have no node with one unit more.
	Domain   string `json:"domain,omitempty"`
	Stranded int    `json:"stranded,omitempty"`
	// Pod is the first of these, as namespace/name, Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod,omitempty"`
	Message string `json:"message,omitempty"`
	// Why says what went wrong where it was not, or not only, that pods have no node.
	Why string `json:"why,omitempty"`
	// Binds is what keeps that pod off the nodes, the most nodes first.
	Binds []CapacityBinding `json:"binds,omitempty"`
	// Unreplaced is the largest number of pods for which nobody makes others after a failure, with More units: those of StatefulSets on
	// nodes that are only unreachable, and bare ones. Room for them is not asked for.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Uneven are counts that fit although a smaller one does not. More is below the smallest that is known not to fit.
	Uneven []CapacityUneven `json:"uneven,omitempty"`
	// Probes is how many counts were tried on the scheduler.
	Probes int `json:"probes"`
}

// CapacityUneven is a count of units that fits although a smaller one does not.
type CapacityUneven struct {
	Fits    int `json:"fits"`
	DoesNot int `json:"doesNot"`
}

// CapacityBinding is what keeps a pod off a number of nodes.
type CapacityBinding struct {
	// Kind is what sort of thing it is, What names it.
	Kind string `json:"kind" jsonschema:"enum=cpu,enum=memory,enum=pods,enum=resource,enum=rule,enum=taint,enum=volume,enum=port,enum=node,enum=other"`
	What string `json:"what"`
	// Plugin refused Nodes nodes with the message.
	Plugin  string `json:"plugin,omitempty"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

// CapacityHeadroom is what becomes of a resource that is free: CPU in cores, memory in bytes, others in their own unit.
type CapacityHeadroom struct {
	Resource string `json:"resource"`
	// Allocatable is that of all nodes, Requested what the pods on them ask for, Free what is left, node by node and never negative.
	Allocatable float64 `json:"allocatable"`
	Requested   float64 `json:"requested"`
	Free        float64 `json:"free"`
	// Used is the part of Free that the replicas take which still fit.
	Used float64 `json:"used"`
	// TooSmall is on nodes that have less of it than one more pod asks for, OtherShort on nodes that have too little of another resource,
	// Refused on nodes that a rule, a taint or something else keeps the pod off. With Used they add up to Free.
	TooSmall   float64 `json:"tooSmall"`
	OtherShort float64 `json:"otherShort"`
	Refused    float64 `json:"refused"`
}

// CapacityPod is the largest pod by one resource that fits on some node.
type CapacityPod struct {
	// By is the resource, cpu or memory.
	By   string `json:"by" jsonschema:"enum=cpu,enum=memory"`
	Node string `json:"node"`
	// CPU is in cores, Memory in bytes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}

// NewCapacity puts how much more fits into the model. The result is of a capacity.Base. The version is Faultline's own.
func NewCapacity(result *simulation.Result, answers []capacity.Answer, opts capacity.Options, version string) *CapacityReport {
	state := result.Steps[len(result.Steps)-1].State
	r := &CapacityReport{Head: newHead(result, CapacityKind, version), Nodes: len(state.Nodes)}
	if len(opts.Survive) > 0 {
		r.Mode = string(opts.Mode)
	}
	for i := range answers {
		r.Mixes = append(r.Mixes, newCapacityMix(&answers[i]))
	}
	for _, pod := range capacity.LargestPods(state) {
		r.Largest = append(r.Largest, CapacityPod{By: string(pod.By), Node: pod.Node, CPU: float64(pod.CPU) / 1000, Memory: pod.Memory})
	}
	return r
}

func newCapacityMix(answer *capacity.Answer) CapacityMix {
	m := CapacityMix{Name: capacity.Name(answer.Of), Fit: newCapacityLimit(&answer.Fit)}
	for i, share := range answer.Of {
		m.Workloads = append(m.Workloads, CapacityShare{
			Kind: share.Workload.Kind, Namespace: share.Workload.Namespace, Name: share.Workload.Name, Proportion: share.Proportion, Now: answer.Now[i],
		})
	}
	for i := range answer.Survive {
		m.Survive = append(m.Survive, newCapacityLimit(&answer.Survive[i]))
	}
	for _, h := range answer.Headroom {
		scale := 1.0
		if h.Resource == v1.ResourceCPU {
			scale = 1000
		}
		in := func(n int64) float64 { return float64(n) / scale }
		m.Headroom = append(m.Headroom, CapacityHeadroom{
			Resource: string(h.Resource), Allocatable: in(h.Allocatable), Requested: in(h.Requested), Free: in(h.Free), Used: in(h.Used),
			TooSmall: in(h.TooSmall), OtherShort: in(h.OtherShort), Refused: in(h.Refused),
		})
	}
	return m
}

func newCapacityLimit(limit *capacity.Limit) CapacityLimit {
	l := CapacityLimit{
		Level: limit.Level, More: limit.More, Short: limit.Short, Capped: limit.Capped, Domain: limit.Domain, Stranded: limit.Stranded,
		Why: limit.Words, Unreplaced: limit.Unreplaced, Probes: limit.Probes,
	}
	l.Pod, l.Message = refusedPod(limit.Refused)
	for _, b := range limit.Bindings {
		l.Binds = append(l.Binds, CapacityBinding(b))
	}
	for _, u := range limit.Uneven {
		l.Uneven = append(l.Uneven, CapacityUneven(u))
	}
	return l
}

// refusedPod is the pod as namespace/name, and kube-scheduler's text.
func refusedPod(refused *placement.Pending) (name, message string) {
	if refused == nil {
		return "", ""
	}
	return refused.Pod.Namespace + "/" + refused.Pod.Name, refused.Message
}
