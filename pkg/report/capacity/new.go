package capacity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// New puts how much more fits into the model. The result is of a capacity.Base. The version is Faultline's own.
func New(result *simulation.Result, answers []capacity.Answer, safety []capacity.Safety, opts capacity.Options, version string) *Report {
	state := result.Steps[len(result.Steps)-1].State
	r := &Report{Head: report.NewHead(result, Kind, version), Nodes: len(state.Nodes), Safety: NewSafety(safety)}
	if len(opts.Survive) > 0 {
		r.Mode = string(opts.Mode)
	}
	for i := range answers {
		r.Mixes = append(r.Mixes, newMix(&answers[i]))
	}
	for _, pod := range capacity.LargestPods(state) {
		r.Largest = append(r.Largest, Pod{By: string(pod.By), Node: pod.Node, CPU: float64(pod.CPU) / 1000, Memory: pod.Memory})
	}
	return r
}

func newMix(answer *capacity.Answer) Mix {
	m := Mix{Name: capacity.Name(answer.Of), Fit: newLimit(&answer.Fit)}
	for i, share := range answer.Of {
		m.Workloads = append(m.Workloads, Share{
			Kind: share.Workload.Kind, Namespace: share.Workload.Namespace, Name: share.Workload.Name, Proportion: share.Proportion, Now: answer.Now[i],
		})
	}
	for i := range answer.Survive {
		m.Survive = append(m.Survive, newLimit(&answer.Survive[i]))
	}
	for _, h := range answer.Headroom {
		scale := 1.0
		if h.Resource == v1.ResourceCPU {
			scale = 1000
		}
		in := func(n int64) float64 { return float64(n) / scale }
		m.Headroom = append(m.Headroom, Headroom{
			Resource: string(h.Resource), Allocatable: in(h.Allocatable), Requested: in(h.Requested), Free: in(h.Free), Used: in(h.Used),
			TooSmall: in(h.TooSmall), OtherShort: in(h.OtherShort), Refused: in(h.Refused),
		})
	}
	return m
}

func newLimit(limit *capacity.Limit) Limit {
	l := Limit{
		Level: limit.Level, More: limit.More, Short: limit.Short, Capped: limit.Capped, Domain: limit.Domain, Stranded: limit.Stranded,
		Why: limit.Words, Unreplaced: limit.Unreplaced, Probes: limit.Probes,
	}
	l.Pod, l.Message = limit.Refused.Said()
	for _, b := range limit.Bindings {
		l.Binds = append(l.Binds, Binding(b))
	}
	for _, u := range limit.Uneven {
		l.Uneven = append(l.Uneven, Uneven(u))
	}
	return l
}
