package inmemory

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
)

// Options are how to run a cluster.
type Options struct {
	Port       int
	Kubeconfig string
	RBAC       bool
	Pace       Pace
	// JobDuration is how long the pods of Jobs run, and MissingImages are patterns of images that do not exist; see cluster.Containers.
	JobDuration   time.Duration
	MissingImages []string
	// Page serves a page that shows the cluster.
	Page bool
	// Name is that of the cluster, its user and its context in the kubeconfig.
	Name string
	// Load, if set, is the file of a saved cluster to go on with. Save, if set, is the file to save the cluster to when it ends.
	Load, Save string
	// Command, if set, runs with the kubeconfig, and the cluster ends with it.
	Command []string
}

// Serve runs a cluster until the call's context ends, or the command of the options. The call's arguments name the input.
type Serve func(c *command.Call, opts Options) error

func newCluster(s command.Streams, serve Serve) *cobra.Command {
	var in input.Flags
	var opts Options
	var pace string
	cmd := &cobra.Command{
		Use:   "cluster [SCENARIO | MANIFEST...] [-- COMMAND [ARG...]]",
		Short: "Run a cluster in memory that kubectl, helm and controllers talk to",
		Long: `Run the API server of Kubernetes in memory, for the nodes and workloads that the arguments and flags name; without any it is the
cluster of the kind walkthrough. The scheduler is the real one, and controllers and kubelets are those of a simulation:
after each request the cluster acts until nothing moves, and no container runs. It has no logs, no exec and no network.

The server listens on this machine alone. It writes a kubeconfig, which holds its token, and prints how to use it. Interrupt the
command to end the cluster: that is success, exit code 0. With a command after --, the cluster ends with the command, and the exit
code is the command's.

The program simulate-cluster, which make cluster builds, has the API server; it is looked for beside simulate, and then in PATH.`,
		Example: `  simulate cluster
  simulate cluster --nodes 9 --zones 3 -- kubectl get nodes
  simulate cluster --cluster kind-config.yaml --kubeconfig-file kubeconfig
  simulate cluster prod.json.gz
  simulate cluster --time x60 --save monday.cluster
  simulate cluster --load monday.cluster`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, opts.Command = args[:at], slices.Clone(args[at:])
				if len(opts.Command) == 0 {
					return command.NewCall(cmd, s, &in, args).Usage("nothing follows --; give a command, such as: -- kubectl get nodes")
				}
			}
			var err error
			if opts.Pace, err = ParsePace(pace); err != nil {
				return exit.Usage(cmd, "%w", err)
			}
			c := command.NewCall(cmd, s, &in, args)
			if opts.Load != "" && len(args)+len(in.Cluster)+len(in.Files) > 0 {
				return c.Usage("--load goes on with a saved cluster; leave out other input")
			}
			if err := output.CheckFiles(cmd); err != nil {
				return err
			}
			return serve(c, opts)
		},
	}
	in.Options.Empty = true
	in.Register(cmd)
	cmd.Flags().IntVar(&opts.Port, "port", 0, "`PORT` on 127.0.0.1 to listen at; 0 is any that is free")
	cmd.Flags().StringVar(&opts.Kubeconfig, "kubeconfig-file", "faultline.kubeconfig", "`FILE` to write the kubeconfig to")
	cmd.Flags().StringVar(&pace, "time", "settle", "how `TIME` passes: settle acts until nothing moves after each request and jumps over waits, real follows\nthe clock, x60 is sixty times as fast, stand waits for simulate step and simulate advance")
	output.CompleteValues(cmd, "time", []string{"settle", "real", "x60", "stand"})
	cmd.Flags().DurationVar(&opts.JobDuration, "job-duration", 10*time.Second, "how `LONG` a pod of a Job runs if neither its literal command nor the annotation\n"+cluster.CompletesAfterAnnotation+" says so; 0 is for ever")
	cmd.Flags().StringSliceVar(&opts.MissingImages, "missing-image", []string{"*:404", "*:non-existent"}, "`PATTERN` of images that do not exist, so that their pods never start (repeatable)")
	cmd.Flags().BoolVar(&opts.Page, "page", false, "serve a page with the cluster's map, which follows each change, and print its address")
	cmd.Flags().StringVar(&opts.Name, "name", "faultline", "`NAME` of the cluster and of its context in the kubeconfig")
	cmd.Flags().StringVar(&opts.Load, "load", "", "go on with the cluster that simulate save wrote to this `FILE`, in place of an input")
	output.FileVar(cmd, &opts.Save, "save", "", "save the cluster to this `FILE` when it ends")
	cmd.Flags().BoolVar(&opts.RBAC, "rbac", false, "authorize requests by roles; by default every client may do everything")
	return cmd
}
