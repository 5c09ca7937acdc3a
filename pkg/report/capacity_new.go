package report

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/simulation"
)

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
