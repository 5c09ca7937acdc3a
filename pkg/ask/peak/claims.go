package peak

import (
	"fmt"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer says in a form that a run can check: which pods are newly Pending and how many do not exist, at the peak and
// after each of its losses, at the share that is safe and after its losses, at the next one, and with each remedy.
func (a *Answer) Claims() []claim.Claim {
	return a.claims
}

// expect returns the expectation that exactly these pods are short, of these workloads. It compares with the step that [claim.BeforeStep]
// returns.
func (f *finder) expectOutcome(o *outcome) *scenario.Expect {
	newly, of := map[cluster.Ref]int{}, map[cluster.Ref]bool{}
	for owner, short := range o.shortages {
		newly[owner], of[owner] = len(short.pending), true
	}
	for _, t := range f.targets {
		of[f.crewOf(t.Ref)] = true
	}
	refused := 0
	for _, r := range o.step.Refused {
		refused += r.Pods
	}
	return &scenario.Expect{NewlyPending: claim.NewlyPendingSinceBefore(newly), NotCreated: ptr.To(refused), Workloads: claim.WorkloadPods(o.state, of)}
}

// claimOutcome returns the claim that the cluster is like the outcome at the share of the way, after the loss of the domain if there is one.
func (f *finder) claimOutcome(share float64, o *outcome, d *domain) claim.Claim {
	at := "at peak"
	if share < 1 {
		at = fmt.Sprintf("at %s of the way to the peak", percentText(share))
	}
	c := claim.Claim{Says: fmt.Sprintf("%s %s no node", at, words.Has(o.short, "pod")), Steps: []scenario.Step{claim.BeforeStep(), f.peakStep(share)}}
	if d != nil {
		c.Says = fmt.Sprintf("%s %s no node after the loss of %s", at, words.Has(o.short, "pod"), d.name)
		c.Steps = append(c.Steps, f.failStep(d))
	}
	c.Last().Expect = f.expectOutcome(o)
	return c
}

// claimSafe returns the claims that every pod has a node at the share that is safe, also after the losses that were tried, and that some have none
// at the next one.
func (s *safeSearch) claimSafe(low int, next *Point) []claim.Claim {
	at := s.points[low]
	var claims []claim.Claim
	if low < 100 {
		claims = append(claims, s.claimOutcome(at.Share, at.peak, nil))
		for _, l := range at.lost {
			claims = append(claims, s.claimOutcome(at.Share, &l.outcome, &l.domain))
		}
	}
	if next == nil || next.Share >= 1 {
		return claims
	}
	above := s.points[int(next.Share*100+0.5)]
	if above.worst == nil {
		return append(claims, s.claimOutcome(above.Share, above.peak, nil))
	}
	return append(claims, s.claimOutcome(above.Share, &above.worst.outcome, &above.worst.domain))
}

// percentText returns a share as "83 %".
func percentText(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + " %" }
