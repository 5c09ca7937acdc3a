package app

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/annotations"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func newExport(s streams) *cobra.Command {
	var in input
	var step, format, side string
	var results bool
	cmd := &cobra.Command{
		Use:   "export [SCENARIO]",
		Short: "Write a cluster for kube-scheduler-simulator, with what its web page shows",
		Long: `Run a scenario and write the cluster after its last step, or after the one named, as a snapshot that
kube-scheduler-simulator imports, or its pods as manifests. Its snapshots are input here, too: give them with --cluster or -f.

With --results the pods carry what every plugin said of every node, in the annotations that kube-scheduler-simulator writes and
its web page shows. Where that is more than an object's annotations may be, 256 KiB, the pod keeps the best nodes, and everything
goes to the --side-file.`,
		Example: `  simulate export scenarios/kind-walkthrough --step weighted-2 > snapshot.json
  simulate export scenarios/kind-walkthrough --results -o pods > pods.yaml
  simulate run --cluster snapshot.json -f deployment.yaml`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(exportFormats, format):
				return usage(cmd, "-o %s: there is no such format; give %s", format, strings.Join(exportFormats, ", "))
			case side != "" && !results:
				return usage(cmd, "--side-file is for the results that do not fit on the pods; give --results, too")
			}
			if results {
				in.depth = &placement.Depth{}
			}
			result, err := in.run(cmd, s, args)
			if err != nil {
				return err
			}
			last, err := stepNamed(cmd, result, step)
			if err != nil {
				return err
			}
			state := last.State
			if results {
				if state, err = annotated(cmd, result, last, side); err != nil {
					return err
				}
			}
			if format == "pods" {
				return manifest.WritePods(s.out, state)
			}
			config, err := result.Scenario.Config.Encode()
			if err != nil {
				return err
			}
			return manifest.WriteSnapshot(s.out, state, config)
		},
	}
	in.register(cmd)
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which the cluster is taken (default the last)")
	cmd.Flags().StringVarP(&format, "output", "o", exportFormats[0], "`FORMAT` of what is written: "+strings.Join(exportFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(exportFormats, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&results, "results", false, "annotate the pods with what every plugin said of every node")
	cmd.Flags().StringVar(&side, "side-file", "", "`FILE` for the results of pods that have more than annotations may hold, a line of JSON each")
	return cmd
}

var exportFormats = []string{"snapshot", "pods"}

// annotated returns the cluster with the results on its pods. What does not fit goes to the side file.
func annotated(cmd *cobra.Command, result *simulation.Result, step *simulation.Step, side string) (*cluster.State, error) {
	state, overflow, err := annotations.Annotate(result, step)
	if err != nil || len(overflow) == 0 {
		return state, err
	}
	if side == "" {
		first := overflow[0]
		return nil, usage(cmd, "--results: those of pod %s/%s and %d more are larger than annotations may be, 256 KiB; give --side-file FILE for all of them",
			first.Namespace, first.Name, len(overflow)-1)
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, pod := range overflow {
		if err := encoder.Encode(pod); err != nil {
			return nil, err
		}
	}
	return state, os.WriteFile(side, lines.Bytes(), 0o644)
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
	return nil, usage(cmd, "--step: there is no step %q; %s", name, scenario.There(name, names))
}
