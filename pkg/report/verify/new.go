package verify

import (
	"time"

	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// New puts how true the simulation is to a cluster into the model. minAgreement is the agreement in percent that is asked for,
// or nil. The version is Faultline's own.
func New(result *verify.Result, minAgreement *float64, version string) *Report {
	r := &Report{
		Head:      report.NewHead(&simulation.Result{Scenario: result.Scenario, Initial: result.State, Notes: result.Notes, Partial: result.Partial}, Kind, version),
		Namespace: result.Namespace, Placements: len(result.Placements), With: result.With, MinAgreement: minAgreement,
	}
	for _, p := range result.Placements {
		switch p.Verdict() {
		case verify.NoChoice:
			r.Only++
			continue
		case verify.Proved:
			r.Proved++
			if p.NotUsable {
				r.NotUsable++
			}
		case verify.ByAssumption:
			r.ByAssumption++
		case verify.Open:
			r.Open++
		case verify.Contradiction:
			r.Contradictions++
		}
		r.Choices++
	}
	r.Explained = r.Proved + r.ByAssumption
	if judged := r.judged(); judged > 0 {
		share := stats.Proportion{Successes: r.Explained, N: judged}
		low, high := share.Wilson(0.95)
		r.Agreement, r.Interval = 100*share.Value(), &Interval{Low: 100 * low, High: 100 * high}
	}
	for _, a := range result.Assumed {
		r.Assumed = append(r.Assumed, newAssumed(a))
	}
	owner := result.State.Owners()
	for _, p := range result.Placements {
		if p.Divergence != nil {
			d := newDivergence(&p)
			d.Workload = report.OwnerName(owner(p.Pod))
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
		r.Pending = append(r.Pending, Pending{
			Namespace: p.Pod.Namespace, Name: p.Pod.Name, Workload: report.OwnerName(owner(p.Pod)),
			Node: p.Node, Preempts: p.Preempts, Message: p.Message, Recorded: p.Recorded,
		})
	}
	for _, s := range result.Skipped {
		skipped := Skipped{Why: s.Why, Count: len(s.Pods)}
		for _, name := range s.Pods {
			skipped.Pods = append(skipped.Pods, name.String())
		}
		r.Skipped = append(r.Skipped, skipped)
	}
	return r
}

func newAssumed(a verify.Assumed) Assumed {
	assumed := Assumed{Namespace: a.Workload.Namespace, Workload: a.Workload.Name, Pods: a.Pods, Endless: a.Endless}
	if a.Requests != nil {
		assumed.CPU, assumed.Memory = a.Requests.Cpu().String(), a.Requests.Memory().String()
	}
	if !a.Until.IsZero() {
		assumed.Until = a.Until.UTC().Format(time.RFC3339)
	}
	return assumed
}

func newDivergence(p *verify.Placement) Divergence {
	d := Divergence{
		Namespace: p.Pod.Namespace, Name: p.Pod.Name, Node: p.Pod.Spec.NodeName, Best: p.Divergence.Best, Rank: p.Rank,
		Behind: p.Divergence.Behind, Contradiction: p.Verdict() == verify.Contradiction, Class: string(p.Divergence.Class), Words: p.Divergence.Words,
	}
	if p.At.Unix() > 0 {
		d.At = p.At.UTC().Format(time.RFC3339)
	}
	for _, points := range p.Divergence.Ahead {
		d.Ahead = append(d.Ahead, Points(points))
	}
	if refusal := p.Divergence.Refusal; refusal != nil {
		d.Refused = refusal.Status
		if refusal.Plugin != "" {
			d.Refused = refusal.Plugin + ": " + refusal.Status
		}
	}
	return d
}
