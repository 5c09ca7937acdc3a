package makeroom

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Claims returns what the answer says in a form that a run can check: how many pods wait, and that after the moves they run. Each pod moves
// within its budget and gets a node before the next, and no other pod is newly Pending. Nothing is claimed about moves that were not found.
func (a *Answer) Claims() []claim.Claim { return a.claims }

// newClaims makes the claims of the answer; with has the moves of the alternative, if there are any.
func (f *finder) newClaims(a *Answer, found, with *found) []claim.Claim {
	before := claim.BeforeStep()
	before.Expect.NewlyPending, before.Expect.Workloads = nil, claim.WorkloadPods(f.start, f.askedWorkloads(f.start))
	if len(before.Expect.Workloads) == 0 {
		return nil // room is asked for nothing
	}
	claims := []claim.Claim{{Says: fmt.Sprintf("before any move %s no node", words.Has(a.Waiting, "pod")), Steps: []scenario.Step{before}}}
	if found != nil {
		claims = append(claims, f.claimMoves(fmt.Sprintf("%s room for %s", words.Pick(found.moves(), "1 move makes", fmt.Sprintf("%d moves make", found.moves())), words.Count(a.Waiting, "pod")), found))
	}
	if with != nil {
		claims = append(claims, f.claimMoves(fmt.Sprintf("%s room at a price that was not allowed", words.Pick(with.moves(), "1 move makes", fmt.Sprintf("%d moves make", with.moves()))), with))
	}
	return claims
}

// claimMoves returns the claim that the moves make room.
func (f *finder) claimMoves(says string, of *found) claim.Claim {
	c := claim.Claim{Says: says, Steps: []scenario.Step{claim.BeforeStep()}}
	for _, step := range of.steps {
		step.Expect = &scenario.Expect{RoomMade: ptr.To(true), NewlyPending: claim.NewlyPendingSinceBefore(nil)}
		c.Steps = append(c.Steps, step)
	}
	c.Last().Expect.Workloads = claim.WorkloadPods(of.end, f.askedWorkloads(of.end))
	return c
}

// askedWorkloads returns the workloads with pods for which room is asked.
func (f *finder) askedWorkloads(state *cluster.State) map[cluster.Ref]bool {
	asked := map[cluster.Ref]bool{}
	owners := state.Owners()
	for _, pod := range state.Pods {
		if owner := owners(pod); f.asksFor(owner, pod) || slices.Contains(f.Targets, owner) {
			asked[owner] = true
		}
	}
	return asked
}
