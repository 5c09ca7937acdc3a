package files

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/annotations"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

func newExport(s command.Streams) *cobra.Command {
	var in input.Flags
	var step, format, side string
	var results bool
	cmd := &cobra.Command{
		Use:   "export [SCENARIO | MANIFEST...]",
		Short: "Export a cluster to kube-scheduler-simulator",
		Long: `Run a scenario and write the cluster after its last step, or after --step, as a snapshot that
kube-scheduler-simulator imports, or write its pods as manifests. To read such a snapshot, give it as an argument, or to --cluster or -f.

With --results the pods carry every plugin's verdict on every node, in the annotations that kube-scheduler-simulator writes and
its web page shows. If they exceed 256 KiB, the limit of an object's annotations, the pod keeps the best nodes, and the whole
goes to the --side-file.`,
		Example: `  simulate export scenarios/kind-walkthrough --step weighted-2 > snapshot.json
  simulate export scenarios/kind-walkthrough --results -o pods > pods.yaml
  simulate run --cluster snapshot.json -f deployment.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(exportFormats, format):
				return exit.Usage(cmd, "-o %s: unknown format: use one of %s", format, strings.Join(exportFormats, ", "))
			case side != "" && !results:
				return exit.Usage(cmd, "--side-file has no effect without --results; give both")
			}
			if err := output.CheckFiles(cmd); err != nil {
				return err
			}
			if results {
				in.Depth = &placement.Depth{}
			}
			c := command.NewCall(cmd, s, &in, args)
			defer c.Bar.Done()
			result, err := c.Run(args)
			if err != nil {
				return err
			}
			last, err := input.FindStep(cmd, result, step)
			if err != nil {
				return err
			}
			state := last.State
			if results {
				if state, err = annotatePods(cmd, result, last, side); err != nil {
					return err
				}
			}
			if format == "pods" {
				return manifest.WritePods(s.Out, state)
			}
			config, err := result.Scenario.Config.Encode()
			if err != nil {
				return err
			}
			return manifest.WriteSnapshot(s.Out, state, config)
		},
	}
	in.Register(cmd)
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which the cluster is exported (default the last)")
	cmd.Flags().StringVarP(&format, "output", "o", exportFormats[0], "output `FORMAT`: "+strings.Join(exportFormats, ", "))
	output.CompleteValues(cmd, "output", exportFormats)
	cmd.Flags().BoolVar(&results, "results", false, "annotate the pods with every plugin's verdict on every node")
	output.FileVar(cmd, &side, "side-file", "", "`FILE` for the results of pods that exceed the limit of annotations, one line of JSON per pod")
	return cmd
}

var exportFormats = []string{"snapshot", "pods"}

// annotatePods returns the cluster with the results in annotations of its pods. Results that exceed the limit go to the side file.
func annotatePods(cmd *cobra.Command, result *simulation.Result, step *simulation.Step, side string) (*cluster.State, error) {
	state, overflow, err := annotations.Annotate(result, step)
	if err != nil || len(overflow) == 0 {
		return state, err
	}
	if side == "" {
		var names []string
		for _, pod := range overflow {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		return nil, exit.Usage(cmd, "--results: the results of %s %s exceed 256 KiB, the limit of annotations; give --side-file FILE",
			words.Pick(len(names), "pod", "pods"), words.Few(names))
	}
	return state, output.WriteFile(side, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		for _, pod := range overflow {
			if err := encoder.Encode(pod); err != nil {
				return err
			}
		}
		return nil
	})
}
