package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
)

func TestVerdict(t *testing.T) {
	met, failed := expect.Judged{Met: true}, expect.Judged{}
	step := func(running, pending, notReady int, expectations ...expect.Judged) Step {
		return Step{Summary: Summary{Pods: running + pending + notReady, Running: running, Pending: pending, NotReady: notReady}, Expectations: expectations}
	}
	tests := map[string]struct {
		steps          []Step
		words, outcome string
	}{
		"none":    {nil, "The scenario has no steps.", "open"},
		"empty":   {[]Step{{}}, "After the last step there are no pods.", "open"},
		"met":     {[]Step{step(2, 0, 0, met, met)}, "2 of 2 expectations met; after the last step every pod runs (2).", "met"},
		"failed":  {[]Step{step(2, 1, 0, met), step(2, 1, 1, failed)}, "1 of 2 expectations not met; after the last step 2 of 4 pods running, 1 Pending, 1 not ready; pods stayed Pending in 1 step before it.", "failed"},
		"earlier": {[]Step{step(1, 1, 0), step(1, 2, 0), step(1, 0, 0, met)}, "1 of 1 expectation met; after the last step every pod runs (1); pods stayed Pending in 2 steps before it.", "met"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			words, outcome := pageVerdict(test.steps)
			if diff := cmp.Diff([]string{test.words, test.outcome}, []string{words, outcome}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
