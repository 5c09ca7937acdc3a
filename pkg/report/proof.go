package report

import (
	"fmt"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/words"
)

// Proof has the results of the runs that check the claims of a report.
type Proof struct {
	// Runs is the number of runs, one for each claim.
	Runs int `json:"runs"`
	// Holds says whether every claim holds.
	Holds bool `json:"holds"`
	// Claims are the claims of the report, each as a sentence with its result.
	Claims []expect.Proved `json:"claims"`
}

// NewProof sums up the results of claims.
func NewProof(claims []expect.Proved) *Proof {
	p := &Proof{Runs: len(claims), Claims: claims}
	p.Holds = len(p.Unproved()) == 0
	return p
}

// Unproved returns the claims that do not hold.
func (p *Proof) Unproved() []expect.Proved {
	var all []expect.Proved
	for _, c := range p.Claims {
		if !c.Holds {
			all = append(all, c)
		}
	}
	return all
}

// Lines say whether the claims hold, and list the expectations that failed.
func (p *Proof) Lines() []string {
	if p.Runs == 0 {
		return []string{"Nothing to prove: the answer has no claim that a run can check."}
	}
	if p.Holds {
		return []string{"Proved by " + words.Count(p.Runs, "run") + "."}
	}
	lines := []string{"Not proved: " + fmt.Sprintf("%d of %s", len(p.Unproved()), words.Count(p.Runs, "claim")) + " " + words.Pick(len(p.Unproved()), "does", "do") + " not hold."}
	for _, c := range p.Unproved() {
		lines = append(lines, "  "+c.Says+":")
		for _, failed := range c.Failed {
			lines = append(lines, "    "+failed)
		}
	}
	return lines
}
