// Package app is the command line. Its commands are in folders, as help groups them: a file per command.
package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/faultline/faultline/cmd/simulate/app/agent"
	"github.com/faultline/faultline/cmd/simulate/app/basic"
	"github.com/faultline/faultline/cmd/simulate/app/ci"
	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/files"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/live"
	"github.com/faultline/faultline/cmd/simulate/app/operation"
	"github.com/faultline/faultline/cmd/simulate/app/page"
	"github.com/faultline/faultline/cmd/simulate/app/planning"
)

// version is Faultline's version. The build sets it.
var version = "dev"

// Main runs the command line and returns the exit code. Programs with scheduler plugins of their own pass options.
func Main(args []string, in io.Reader, out, errOut io.Writer, opts ...Option) int {
	return MainWithCluster(inmemory.StartProgram, args, in, out, errOut, opts...)
}

// MainWithCluster does what Main does in a program that has the API server of clusters in memory.
func MainWithCluster(serve inmemory.Serve, args []string, in io.Reader, out, errOut io.Writer, opts ...Option) int {
	ctx, stop := exit.SignalContext()
	defer stop()
	name, args := parseProgramName(os.Args[0], args)
	return execute(ctx, serve, name, args, in, out, errOut, opts...)
}

func execute(ctx context.Context, serve inmemory.Serve, name string, args []string, in io.Reader, out, errOut io.Writer, opts ...Option) int {
	klog.SetLogger(logr.Discard()) // upstream's log lines carry timestamps, and are meant for operators of a control plane
	own, err := registerPlugins(opts)
	if err != nil {
		return exit.PrintError(name, err, args, errOut)
	}
	root, rename := newProgram(name, command.Streams{In: in, Out: out, Err: errOut, Plugins: own, ToolVersion: version}, serve)
	root.SetArgs(args)
	root.SetIn(in)
	help := &errorKeepingWriter{out: out}
	root.SetOut(help)
	root.SetErr(errOut)
	err = root.ExecuteContext(ctx)
	if exit.Interrupted(err) {
		err = context.Cause(ctx) // the cause knows the signal
	}
	return exit.PrintError(name, cmp.Or(err, help.err), args, renamingWriter{errOut, rename})
}

// newProgram returns the commands of the program that the user calls by the name, and a function that puts the name into other text.
func newProgram(name string, s command.Streams, serve inmemory.Serve) (root *cobra.Command, rename func(string) string) {
	root = newRoot(s, serve, func(ctx context.Context, s command.Streams, args []string) error {
		root, _ := newProgram(name, s, serve)
		root.SetArgs(args)
		root.SetIn(s.In)
		root.SetOut(s.Out)
		root.SetErr(s.Err)
		return root.ExecuteContext(ctx)
	})
	return root, renameProgram(root, name)
}

// errorKeepingWriter is a writer that keeps the first error, because cobra ignores errors when it prints help.
type errorKeepingWriter struct {
	out io.Writer
	err error
}

func (c *errorKeepingWriter) Write(data []byte) (int, error) {
	n, err := c.out.Write(data)
	c.err = cmp.Or(c.err, err)
	return n, err
}

func newRoot(s command.Streams, serve inmemory.Serve, run command.Runner) *cobra.Command {
	var printVersion bool
	root := &cobra.Command{
		Use:   "simulate",
		Short: "Where will the real kube-scheduler put these pods, and which stay Pending?",
		Long: `simulate replays workloads through the real kube-scheduler plugins, in memory, and reports where each pod goes,
which pods stay Pending, and why, in one cluster or in several under Karmada. It needs no cluster; with --context it reads one.

Exit codes: 0 answered, 1 could not answer, 2 bad usage or input, 3 answered and an expectation was not met,
130 interrupted: the report, if any, is of what was known by then, and says so; the same after --timeout, with 0.`,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !printVersion {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printVersion {
				_, err := io.WriteString(s.Out, versionText())
				return err
			}
			return cmd.Help()
		},
	}
	// cobra's own version flag prints through a template, and a program that runs templates must keep every method of every type.
	root.Flags().BoolVarP(&printVersion, "version", "v", false, "version for simulate")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Basic Commands:", basic.Commands(s)},
		{"Planning Commands:", planning.Commands(s)},
		{"Operations Commands:", operation.Commands(s)},
		{"CI Commands:", ci.Commands(s)},
		{"Live Cluster Commands:", live.Commands(s)},
		{"Cluster in Memory Commands:", inmemory.Commands(s, serve)},
		{"Agent Commands:", agent.Commands(s, run)},
		{"File Commands:", files.Commands(s)},
		{"Playground Commands:", page.Commands(s)},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersion(s), newCompletion(s))
	input.GroupFlags(root)
	for _, cmd := range root.Commands() {
		input.CompleteFlags(cmd)
	}
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	if similar := cmd.Root().SuggestionsFor(name); len(similar) > 0 {
		return exit.Usage(cmd.Root(), "unknown command %q: did you mean %q?", name, similar[0])
	}
	return exit.Usage(cmd.Root(), "unknown command %q", name)
}

// flagError rewords pflag's errors, which name the parsing function.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		wanted := map[string]string{"uint64": "a whole number of at least 0", "int": "a whole number", "bool": "true or false"}[invalid.GetFlag().Value.Type()]
		return exit.Usage(cmd, "--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
	}
	return exit.Usage(cmd, "%s%s", err, suggestFlag(cmd, err))
}

// flagGuesses maps a flag that no command has to the flags that the user may mean, with a hint. The first one that the command has is
// suggested.
var flagGuesses = map[string][]struct{ flag, does string }{
	"hpa":     {{"scale", "--scale grows workloads as far as their HorizontalPodAutoscalers allow"}, {"help", "simulate plan --hpa max asks with every HorizontalPodAutoscaler at its maximum"}},
	"max":     {{"up-to", "--up-to limits how many more replicas are tried"}, {"node-group", "--node-group NAME=MIN:MAX limits the nodes of a group"}},
	"price":   {{"prices", "--prices FILE says what nodes cost in an hour"}},
	"survive": {{"level", "--level zone=NAME is the loss of that zone, and --level zone that of any"}},
	"level":   {{"survive", "--survive zone=NAME is the loss of that zone, and --survive zone that of any"}},
	"pool":    {{"node-group", "--node-group NAME=MIN:MAX names a group of nodes"}},
	"zone":    {{"level", "--level zone=NAME is the loss of that zone"}, {"survive", "--survive zone=NAME is the loss of that zone"}},
}

// suggestFlag returns a hint at the flag that the user may have meant by an unknown one, or "".
func suggestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	for _, guess := range flagGuesses[unknown.GetSpecifiedName()] {
		if cmd.Flags().Lookup(guess.flag) != nil {
			return "; " + guess.does
		}
	}
	return ""
}
