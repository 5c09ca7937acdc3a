package app

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/placement"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

func newRun(s streams) *cobra.Command {
	var in input
	var format string
	var opts report.Options
	cmd := &cobra.Command{
		Use:   "run [SCENARIO]",
		Short: "Run a scenario, or place the pods of files on a cluster",
		Long: `Run a scenario step by step, or place the pods of files on a cluster, and report where each pod goes, which ones stay
Pending, and why. Without any input it runs the kind walkthrough of inter-pod anti-affinity.`,
		Example: `  simulate run
  simulate run scenarios/kind-walkthrough
  simulate run --cluster kind-config.yaml -f deployment.yaml
  helm template x ./chart | simulate run --cluster nodes.yaml -f -
  kubectl get nodes,pods,deploy,rs,sts,ds,svc,pdb,pv,pvc,sc,pc -A -o json | simulate run --cluster - -f extra.yaml`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, format, report.Formats(), opts); err != nil {
				return err
			}
			result, err := in.run(cmd, s, args)
			if err != nil {
				return err
			}
			opts.Color = isTerminal(s.out) && os.Getenv("NO_COLOR") == ""
			found := report.New(result, version)
			if err := report.Write(s.out, found, format, opts); err != nil {
				return err
			}
			if !found.Met() {
				return errUnmet
			}
			return nil
		},
	}
	in.register(cmd)
	in.registerExplain(cmd)
	registerOutput(cmd, &format, report.Formats())
	cmd.Flags().BoolVarP(&opts.Quiet, "quiet", "q", false, "one line a step")
	cmd.Flags().BoolVar(&opts.All, "all", false, "list every pod, however many there are")
	return cmd
}

// registerOutput adds the flag of the report's format.
func registerOutput(cmd *cobra.Command, format *string, formats []string) {
	cmd.Flags().StringVarP(format, "output", "o", formats[0], "`FORMAT` of the report: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput finds formats that there are not, and options that do not go with each other.
func checkOutput(cmd *cobra.Command, format string, formats []string, opts report.Options) error {
	switch {
	case !slices.Contains(formats, format):
		return usage(cmd, "-o %s: there is no such format; give %s", format, strings.Join(formats, ", "))
	case (opts.Quiet || opts.All) && format != "text" && format != "wide":
		return usage(cmd, "-q and --all choose what -o text and wide show, and have no effect on -o %s; leave them out", format)
	case opts.Quiet && opts.All:
		return usage(cmd, "-q asks for one line a step and --all for everything; give one of them")
	}
	return nil
}

// run carries out the scenario that the arguments and flags name, and shows how far it is.
func (i *input) run(cmd *cobra.Command, s streams, args []string) (*simulation.Result, error) {
	loaded, err := i.load(cmd, s, args)
	if err != nil {
		return nil, err
	}
	bar := newProgress(s.err)
	defer bar.done()
	opts := simulation.Options{Progress: bar.update}
	if record := i.record(); record != nil {
		opts.Record = func(_ string, owner cluster.Owner, pod *v1.Pod) *placement.Depth { return record(owner, pod) }
	}
	return simulation.Run(cmd.Context(), loaded, opts)
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, "%d scenarios are given, and one is run at a time", len(args))
	}
	return nil
}

// isTerminal tells whether the writer is one.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
