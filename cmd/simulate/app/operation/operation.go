package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// operation are the flags of a command that does steps of its own: the step of the scenario after which it begins, and the file for its
// steps.
type operation struct {
	step, steps string
	before      *scenario.File // what comes before the steps, as a scenario file
}

// register adds the flags. what says what the steps do, such as "nodes are removed".
func (o *operation) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&o.step, "step", "", "the `STEP` after which "+what+" (default the last)")
	output.FileVar(cmd, &o.steps, "steps", "", "write the steps to this `FILE`, after what the command line names, as a scenario")
}

// load returns the scenario up to the step of --step, or to its end. With --steps, it is an error if a scenario file cannot express the
// command line.
func (o *operation) load(c *command.Call) (*scenario.Scenario, error) {
	s, err := c.Load(c.Args)
	if err != nil {
		return s, err
	}
	var names []string
	for _, known := range simulation.StepsOf(s) {
		names = append(names, known.Name)
	}
	switch {
	case o.step != "" && !slices.Contains(names, o.step):
		return nil, c.Usage("--step: there is no step %q; %s", o.step, scenario.ListChoices(o.step, names))
	case o.step != "":
		s = s.CutAfter(o.step)
	}
	if o.steps != "" {
		o.before, err = c.ScenarioFile("steps", s, c.Args, o.steps)
	}
	return s, err
}

// rehearse runs an operation in a world of the scenario, and writes its steps if there is a file for them. If the operation is interrupted
// and has an answer, rehearse returns the answer and the interruption. With any other error there is no answer.
func rehearse[A any](o *operation, s *scenario.Scenario, run func(*world.Cluster) (*A, []scenario.Step, error)) (*A, error) {
	w, err := simulation.NewCluster(s)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	answer, steps, stopped := run(w)
	if answer == nil || stopped != nil && !exit.Interrupted(stopped) {
		return nil, stopped
	}
	if err := o.writeSteps(s, steps); err != nil {
		return nil, err
	}
	return answer, stopped
}

// writeSteps writes the steps to the file of --steps, after what comes before them.
func (o *operation) writeSteps(s *scenario.Scenario, steps []scenario.Step) error {
	if o.before == nil {
		return nil
	}
	o.before.TerminationSeconds = &s.TerminationSeconds
	o.before.Steps = append(o.before.Steps, steps...)
	if err := command.WriteScenario(o.steps, "", o.before); err != nil {
		return fmt.Errorf("--steps: %w", err)
	}
	return nil
}

// poolSelector returns the label of the nodes of --pool, as KEY=VALUE. The flag gives a label, also with a short key, or the name of a node
// group.
func poolSelector(state *cluster.State, pool string) (string, error) {
	key, value, found := strings.Cut(pool, "=")
	switch {
	case !found:
		return scenario.FindGroup(state.Nodes, pool)
	case key == "" || value == "":
		return "", fmt.Errorf("%q is not KEY=VALUE; give a label of the nodes, such as pool=general, or the name of a node group", pool)
	}
	return topology.ResolveKey(state.Nodes, key) + "=" + value, nil
}
