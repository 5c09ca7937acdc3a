package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/simulation"
)

func newExport(s streams) *cobra.Command {
	var in input
	var step string
	cmd := &cobra.Command{
		Use:   "export [SCENARIO]",
		Short: "Write a cluster as a kube-scheduler-simulator snapshot",
		Long: `Run a scenario and write the cluster after its last step, or after the one named, as a snapshot that
kube-scheduler-simulator imports. Its snapshots are input here, too: give them with --cluster or -f.`,
		Example: `  simulate export scenarios/kind-walkthrough --step weighted-2 > snapshot.json
  simulate run --cluster snapshot.json -f deployment.yaml`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := in.run(cmd, s, args)
			if err != nil {
				return err
			}
			last, err := stepNamed(cmd, result, step)
			if err != nil {
				return err
			}
			config, err := result.Scenario.Config.Encode()
			if err != nil {
				return err
			}
			return manifest.WriteSnapshot(s.out, last.State, config)
		},
	}
	in.register(cmd)
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which the cluster is taken (default the last)")
	return cmd
}

// stepNamed returns the step of that name, or the last one.
func stepNamed(cmd *cobra.Command, result *simulation.Result, name string) (*simulation.Step, error) {
	if name == "" {
		return &result.Steps[len(result.Steps)-1], nil
	}
	var names []string
	for i := range result.Steps {
		if result.Steps[i].Name == name {
			return &result.Steps[i], nil
		}
		names = append(names, result.Steps[i].Name)
	}
	return nil, usage(cmd, "--step: there is no step %q; there are %s", name, strings.Join(names, ", "))
}
