// Package capacity is the report on how much more fits.
package capacity

import (
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on how much more fits.
const Kind = "CapacityReport"

// Report is how many more replicas fit before the first pod stays Pending, and what keeps the next from it.
type Report struct {
	report.Head
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Mode is how nodes fail, where failures are to be survived.
	Mode string `json:"mode,omitempty"`
	// Safety is whether everything comes back as the cluster is, for each level of which a domain may fail.
	Safety []Safety `json:"safety,omitempty"`
	// Mixes are the workloads, each by itself, or the mixes that were asked for.
	Mixes []Mix `json:"mixes"`
	// Largest are the largest pods that fit on some node that takes pods without tolerations, by CPU and by memory, as the cluster is now.
	Largest []Pod `json:"largest,omitempty"`
}

// Safety is whether everything comes back, whichever domain of a level fails.
type Safety struct {
	// Level is the topology key, Domains the number of its domains, of which one at a time was lost.
	Level   string `json:"level"`
	Domains int    `json:"domains"`
	// Safe means that every pod that had a node gets another, but for Unreplaced pods at most, for which nobody makes others.
	Safe       bool `json:"safe"`
	Unreplaced int  `json:"unreplaced,omitempty"`
	// Unsafe are the failures that leave pods Pending which were not before.
	Unsafe []Unsafe `json:"unsafe,omitempty"`
	// Lacks are the nodes with which these pods have a node.
	Lacks []Lack `json:"lacks,omitempty"`
}

// Unsafe is a failure that leaves pods Pending.
type Unsafe struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
	// Still is how many of them no number of nodes of a group in a zone places.
	Still int `json:"still,omitempty"`
	// Pod is the first of them, as namespace/name, Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// Lack is a number of nodes like those of the group in the zone.
type Lack struct {
	Group string `json:"group"`
	Zone  string `json:"zone,omitempty"`
	Nodes int    `json:"nodes"`
}

// Mix is how much more of a mix of workloads fits, mostly of a single one.
type Mix struct {
	// Name is the workload, as kind/name in lower case, or the mix.
	Name string `json:"name"`
	// Workloads are the mix: a unit holds so many replicas of each.
	Workloads []Share `json:"workloads"`
	// Fit is how many more units fit while no node fails.
	Fit Limit `json:"fit"`
	// Survive is how many more do so that, whichever domain of a level fails, every lost pod comes back.
	Survive []Limit `json:"survive,omitempty"`
	// Headroom is what becomes of the free resources.
	Headroom []Headroom `json:"headroom,omitempty"`
}

// Share is a workload of a mix.
type Share struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Proportion is the number of its replicas in a unit.
	Proportion int `json:"proportion"`
	// Now is the number of replicas that it asks for.
	Now int `json:"now"`
}

// Limit is the largest number of further units that fit.
type Limit struct {
	// Level is the topology key of which any one domain may fail; missing where none fails.
	Level string `json:"level,omitempty"`
	// More is the number of units. It is 0 with Short where not even the replicas that are asked for now fit, or come back.
	More  int  `json:"more"`
	Short bool `json:"short,omitempty"`
	// Capped means that the search ended at More, and more might fit.
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
	Binds []Binding `json:"binds,omitempty"`
	// Unreplaced is the largest number of pods for which nobody makes others after a failure, with More units: those of StatefulSets on
	// nodes that are only unreachable, and bare ones. Room for them is not asked for.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Uneven are counts that fit although a smaller one does not. More is below the smallest that is known not to fit.
	Uneven []Uneven `json:"uneven,omitempty"`
	// Probes is how many counts were tried on the scheduler.
	Probes int `json:"probes"`
}

// Uneven is a count of units that fits although a smaller one does not.
type Uneven struct {
	Fits    int `json:"fits"`
	DoesNot int `json:"doesNot"`
}

// Binding is what keeps a pod off a number of nodes.
type Binding struct {
	// Kind is what sort of thing it is, What names it.
	Kind string `json:"kind" jsonschema:"enum=cpu,enum=memory,enum=pods,enum=resource,enum=rule,enum=taint,enum=volume,enum=port,enum=node,enum=other"`
	What string `json:"what"`
	// Plugin refused Nodes nodes with the message.
	Plugin  string `json:"plugin,omitempty"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

// Headroom is what becomes of a resource that is free: CPU in cores, memory in bytes, others in their own unit.
type Headroom struct {
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

// Pod is the largest pod by one resource that fits on some node.
type Pod struct {
	// By is the resource, cpu or memory.
	By   string `json:"by" jsonschema:"enum=cpu,enum=memory"`
	Node string `json:"node"`
	// CPU is in cores, Memory in bytes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}
