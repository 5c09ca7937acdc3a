package operation

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// operation are the flags of a command that does steps of its own: the step of the scenario after which it begins, and the file for its
// steps.
type operation struct{ step, steps string }

// register adds the flags. what says what the steps do, such as "nodes are removed".
func (o *operation) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&o.step, "step", "", "the `STEP` after which "+what+" (default the last)")
	cmd.Flags().StringVar(&o.steps, "steps", "", "write the steps to this `FILE`, as a scenario or to be added to one")
}

// check rejects a file of steps that cannot be written or is an input.
func (o *operation) check(c *command.Call) error {
	if o.steps == "" {
		return nil
	}
	return output.Writable(c.Command, "steps", o.steps)
}

// load returns the scenario up to the step of --step, or to its end.
func (o *operation) load(c *command.Call) (*scenario.Scenario, error) {
	s, err := c.Load(c.Args)
	if err != nil || o.step == "" {
		return s, err
	}
	var names []string
	for _, known := range simulation.StepsOf(s) {
		names = append(names, known.Name)
	}
	if !slices.Contains(names, o.step) {
		return nil, c.Usage("--step: there is no step %q; %s", o.step, scenario.Choices(o.step, names))
	}
	return s.Until(o.step), nil
}

// do calls a function in a world of the scenario, and writes the steps that it returns if there is a file for them. If the function is
// interrupted and has steps, do writes them before it returns the interruption.
func (o *operation) do(c *command.Call, s *scenario.Scenario, do func(*world.Cluster) ([]scenario.Step, error)) error {
	w, err := simulation.NewCluster(s)
	if err != nil {
		return err
	}
	defer w.Close()
	steps, stopped := do(w)
	if o.steps == "" || stopped != nil && (steps == nil || !exit.Interrupted(stopped)) {
		return stopped
	}
	if err := o.write(c, s, steps); err != nil {
		return err
	}
	return stopped
}

// write writes the steps to the file: a scenario that names the command line's files, or steps to add to the given scenario.
func (o *operation) write(c *command.Call, s *scenario.Scenario, steps []scenario.Step) error {
	content := struct {
		APIVersion         string            `json:"apiVersion,omitempty"`
		Kind               string            `json:"kind,omitempty"`
		TerminationSeconds *int64            `json:"terminationSeconds,omitempty"`
		Cluster            []scenario.Source `json:"cluster,omitempty"`
		Workloads          []scenario.Source `json:"workloads,omitempty"`
		Steps              []scenario.Step   `json:"steps"`
	}{Steps: steps}
	note := "# Add these steps to the scenario.\n"
	cluster, workloads := c.Input.Cluster, slices.Concat(c.Input.Files, c.Args)
	if len(cluster) == 0 {
		cluster, workloads = workloads, nil
	}
	if s.File == scenario.CommandLine && len(cluster) > 0 && !s.MadeUp && !slices.Contains(slices.Concat(cluster, workloads), manifest.Stdin) {
		note, content.APIVersion, content.Kind, content.TerminationSeconds = "", report.APIVersion, "Scenario", &s.TerminationSeconds
		content.Cluster = []scenario.Source{{Files: input.Besides(o.steps, cluster)}}
		if len(workloads) > 0 {
			content.Workloads = []scenario.Source{{Files: input.Besides(o.steps, workloads)}}
		}
	}
	data, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(o.steps, append([]byte(note), data...), 0o644)
}

// poolSelector returns the label of the nodes of --pool, as KEY=VALUE. The flag gives a label, also with a short key, or the name of a node
// group.
func poolSelector(state *cluster.State, pool string) (string, error) {
	key, value, found := strings.Cut(pool, "=")
	switch {
	case !found:
		return scenario.GroupNamed(state.Nodes, pool)
	case key == "" || value == "":
		return "", fmt.Errorf("%q is not KEY=VALUE; give a label of the nodes, such as pool=general, or the name of a node group", pool)
	}
	return topology.KeyAmong(state.Nodes, key) + "=" + value, nil
}
