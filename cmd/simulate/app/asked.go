package app

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/scenario"
)

// asked are the flags that ask a question about a cluster in one line. Each adds last steps to the scenario.
type asked struct {
	scale []string
}

func (a *asked) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.scale, "scale", nil, "add a last step that multiplies the replicas of all workloads, of those of -n, or of one, by this `FACTOR`:\n"+
		"1.2 for 20 % more traffic, or WORKLOAD=FACTOR (repeatable)")
}

// askedStep is a step that a flag makes, and the flags that give fields of it, by their paths.
type askedStep struct {
	scenario.Step
	flags map[string]string
}

// apply returns the scenario with the steps at its end, which can be done.
func (a *asked) apply(cmd *cobra.Command, s *scenario.Scenario, namespace string) (*scenario.Scenario, error) {
	steps, err := a.steps(namespace)
	if err != nil {
		return nil, exit.Usage(cmd, "%s", err)
	}
	if len(steps) == 0 {
		return s, nil
	}
	if len(s.Steps) == 0 && !s.Begins() { // what the cluster is like before
		s = s.Then(scenario.Step{Name: scenario.WorkloadsStep})
	}
	p := &scenario.Problems{File: s.File, Flags: map[string]string{}}
	for _, step := range steps {
		if s.Index(step.Name) >= 0 {
			return nil, exit.Usage(cmd, "--%s: there is a step of this name already; give it once", step.Name)
		}
		path := s.StepPath(len(s.Steps))
		for field, flag := range step.flags {
			p.Flags[path.Child(field).String()] = flag
		}
		s = s.Then(step.Step)
		scenario.ValidateStep(p, path, &step.Step, s.Federated())
	}
	if p.Len() == 0 {
		check.Check(cmd.Context(), p, s)
	}
	s.Asked = len(steps)
	return s, exit.Input(p.Err())
}

func (a *asked) steps(namespace string) ([]askedStep, error) {
	var steps []askedStep
	for _, given := range a.scale {
		step := &scenario.ScaleBy{Namespace: namespace}
		factor := given
		if workload, of, found := strings.Cut(given, "="); found {
			step.Workloads, factor = []string{workload}, of
		}
		var err error
		if step.Factor, err = strconv.ParseFloat(factor, 64); err != nil {
			return nil, fmt.Errorf("--scale %q: give a factor such as 1.2 for 20 %% more, or a workload and its factor, such as deployment/web=1.5", given)
		}
		steps = append(steps, askedStep{scenario.Step{Name: "scale " + given, ScaleBy: step}, map[string]string{
			"scaleBy.factor": "scale", "scaleBy.workloads[0]": "scale", "scaleBy.namespace": "namespace",
		}})
	}
	return steps, nil
}
