package expect

import (
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
)

// Proved is the result of the run of a claim.
type Proved struct {
	// Says is the claim in words.
	Says string `json:"says"`
	// Holds says whether the run met all expectations of the claim.
	Holds bool `json:"holds"`
	// Failed has the unmet expectations, each after the name of its step.
	Failed []string `json:"failed,omitempty"`
}

// Prove runs each claim in a world of its own, after the last step of the scenario, and judges it. A claim whose steps cannot be done, or that
// expects nothing, does not hold.
func Prove(ctx context.Context, s *scenario.Scenario, claims []claim.Claim, progress func(done, total int)) ([]Proved, error) {
	base := *s
	base.Asked = 0 // steps that are asked already are part of the input
	maker := variant.NewMaker(&base)
	proved, at, varied := make([]Proved, len(claims)), []int{}, []scenario.LoadedVariant{}
	for i := range claims {
		proved[i].Says = claims[i].Says
		v := claims[i].Variant()
		one, err := maker.VaryContext(ctx, &v, "claim")
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			proved[i].Failed = []string{err.Error()}
		default:
			at, varied = append(at, i), append(varied, *one)
		}
	}
	ran, err := ProveVariants(ctx, varied, progress)
	for i := range ran {
		proved[at[i]] = ran[i]
	}
	return proved, err
}

// ProveVariants runs variants that are claims, and judges them. The results have the order of the variants.
func ProveVariants(ctx context.Context, variants []scenario.LoadedVariant, progress func(done, total int)) ([]Proved, error) {
	opts := parallel.Options{}
	if progress != nil {
		opts.Progress = func(_, done int) { progress(done, len(variants)) }
	}
	proved := make([]Proved, len(variants))
	input, err := runInput(ctx, variants)
	if err != nil {
		return nil, err
	}
	return proved, parallel.Each(ctx, len(variants), opts, func(ctx context.Context, _, i int) (err error) {
		proved[i], err = proveVariant(ctx, &variants[i], input)
		return err
	})
}

// largeInputPods is the number of pods above which the input runs once for all claims, since each run of it takes a second or more.
const largeInputPods = 1000

// runInput returns the run of a large input, which all claims continue; nil if each claim begins anew.
func runInput(ctx context.Context, variants []scenario.LoadedVariant) (*simulation.Result, error) {
	if len(variants) < 2 || len(variants[0].Scenario.Pods()) < largeInputPods {
		return nil, nil
	}
	input := *variants[0].Scenario
	input.Steps = slices.Clip(input.Steps[:len(input.Steps)-input.Asked])
	input.Asked = 0
	result, err := simulation.Run(ctx, &input, simulation.Options{})
	if err != nil && ctx.Err() == nil {
		return nil, nil // the run of each claim reports the error
	}
	return result, err
}

func proveVariant(ctx context.Context, v *scenario.LoadedVariant, input *simulation.Result) (Proved, error) {
	proved := Proved{Says: v.Name}
	result, err := simulation.Run(ctx, KeepAskedExpectations(v.Scenario), simulation.Options{Prefix: input})
	if ctx.Err() != nil {
		return proved, context.Cause(ctx)
	}
	if err != nil {
		proved.Failed = []string{err.Error()}
		return proved, nil
	}
	judged, err := Judge(ctx, result, nil)
	if err != nil {
		return proved, err
	}
	all := 0
	for i, step := range judged {
		all += len(step)
		for _, e := range Unmet(step) {
			failed := fmt.Sprintf("%s: %s", result.Steps[i].Name, e)
			if e.Why != "" {
				failed += ": " + e.Why
			}
			proved.Failed = append(proved.Failed, failed)
		}
	}
	if all == 0 {
		proved.Failed = []string{"it expects nothing"}
	}
	proved.Holds = len(proved.Failed) == 0
	return proved, nil
}

// KeepAskedExpectations returns the scenario without expectations, except for those of its last steps, which are asked.
func KeepAskedExpectations(s *scenario.Scenario) *scenario.Scenario {
	alone := *s
	alone.Expect, alone.Steps = nil, slices.Clone(s.Steps)
	for i := range alone.Steps[:len(alone.Steps)-s.Asked] {
		alone.Steps[i].Expect = nil
	}
	return &alone
}
