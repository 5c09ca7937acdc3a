package blast

import (
	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Blasted is a step and the analysis of the failures after it.
type Blasted struct {
	Step     *simulation.Step
	Analysis *blast.Analysis
	// Risk is nil if no failure rates are given.
	Risk *risk.Analysis
}

// New returns the report on these analyses, which it takes over. opts are the options of the analyses, and filter selected their workloads.
// recovered says whether recoveries were simulated. version is Faultline's version.
func New(result *simulation.Result, steps []Blasted, opts blast.Options, filter blast.Filter, recovered bool, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Mode: string(opts.Mode), Simultaneous: opts.Simultaneous, Recover: recovered}
	if recovered {
		r.Worst = opts.Worst
	}
	if !filter.Empty() {
		r.Filter = &filter
		if filter.MinReplicas == 1 { // every workload has at least one
			r.Filter.MinReplicas = 0
		}
	}
	for _, blasted := range steps {
		step := newStep(blasted, result.Scenario)
		only, err := filter.Select(blasted.Step.State)
		if err != nil { // no workload matches after this step
			only = map[cluster.Ref]bool{}
		}
		step.Declared = report.NewDeclared(blasted.Step, result.Scenario, only)
		r.Steps = append(r.Steps, step)
	}
	report.OmitUnchanged(r.Steps, func(s *Step) *[]report.Declared { return &s.Declared })
	return r
}

func newStep(blasted Blasted, from *scenario.Scenario) Step {
	step := blasted.Step
	s := Step{Name: step.Name, Action: step.Action, Analysis: *blasted.Analysis, Risk: blasted.Risk}
	for _, pod := range step.State.Pods {
		switch {
		case !cluster.IsActive(pod):
		case pod.Spec.NodeName == "":
			s.Pending++
		default:
			s.Running++
		}
	}
	for i := range s.Levels {
		for j := range s.Levels[i].Failures {
			failure := &s.Levels[i].Failures[j]
			if failure.LikeDomains != nil {
				failure.Recovery = nil
			}
			for k := range failure.Workloads {
				failure.Workloads[k].Source = report.FindSource(from, step.Name, failure.Workloads[k].Ref)
			}
		}
	}
	return s
}
