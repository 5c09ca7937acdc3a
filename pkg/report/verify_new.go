package report

import (
	"time"

	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/simulation"
)

// NewVerify puts how true the simulation is to a cluster into the model. minAgreement is the agreement in percent that is asked for,
// or nil. The version is Faultline's own.
func NewVerify(result *verify.Result, minAgreement *float64, version string) *VerifyReport {
	r := &VerifyReport{
		Head:       newHead(&simulation.Result{Scenario: result.Scenario, Initial: result.State, Notes: result.Notes}, VerifyKind, version),
		Placements: len(result.Placements), With: result.With, MinAgreement: minAgreement,
	}
	r.Explained, r.Choices = result.Choices()
	r.Only = r.Placements - r.Choices
	if r.Choices > 0 {
		share := stats.Proportion{Successes: r.Explained, N: r.Choices}
		low, high := share.Wilson(0.95)
		r.Agreement, r.Interval = 100*share.Value(), &VerifyInterval{Low: 100 * low, High: 100 * high}
	}
	for _, a := range result.Assumed {
		r.Assumed = append(r.Assumed, newVerifyAssumed(a))
	}
	owner := result.State.Owners()
	for _, p := range result.Placements {
		if p.Divergence != nil {
			d := newVerifyDivergence(&p)
			d.Workload = ownerName(owner(p.Pod))
			r.Divergences = append(r.Divergences, d)
			continue
		}
		if p.Ties > 1 {
			r.Tied++
		}
		if p.Reordered && !p.Only {
			r.Reordered++
		}
	}
	for _, p := range result.Pending {
		r.Pending = append(r.Pending, VerifyPending{
			Namespace: p.Pod.Namespace, Name: p.Pod.Name, Workload: ownerName(owner(p.Pod)),
			Node: p.Node, Preempts: p.Preempts, Message: p.Message, Recorded: p.Recorded,
		})
	}
	for _, s := range result.Skipped {
		skipped := VerifySkipped{Why: s.Why, Count: len(s.Pods)}
		for _, name := range s.Pods {
			skipped.Pods = append(skipped.Pods, name.String())
		}
		r.Skipped = append(r.Skipped, skipped)
	}
	return r
}

func newVerifyAssumed(a verify.Assumed) VerifyAssumed {
	assumed := VerifyAssumed{Namespace: a.Workload.Namespace, Workload: a.Workload.Name, Pods: a.Pods, Endless: a.Endless}
	if a.Requests != nil {
		assumed.CPU, assumed.Memory = a.Requests.Cpu().String(), a.Requests.Memory().String()
	}
	if !a.Until.IsZero() {
		assumed.Until = a.Until.UTC().Format(time.RFC3339)
	}
	return assumed
}

func newVerifyDivergence(p *verify.Placement) VerifyDivergence {
	d := VerifyDivergence{
		Namespace: p.Pod.Namespace, Name: p.Pod.Name, Node: p.Pod.Spec.NodeName, Best: p.Divergence.Best, Rank: p.Rank,
		Behind: p.Divergence.Behind, Class: string(p.Divergence.Class), Words: p.Divergence.Words,
	}
	if p.At.Unix() > 0 {
		d.At = p.At.UTC().Format(time.RFC3339)
	}
	for _, points := range p.Divergence.Ahead {
		d.Ahead = append(d.Ahead, VerifyPoints(points))
	}
	if refusal := p.Divergence.Refusal; refusal != nil {
		d.Refused = refusal.Status
		if refusal.Plugin != "" {
			d.Refused = refusal.Plugin + ": " + refusal.Status
		}
	}
	return d
}
