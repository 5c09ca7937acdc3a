// Package app is the command line: one file per command, and the only importer of cobra.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// version is Faultline's own; the build sets it.
var version = "dev"

// Exit codes. They never depend on the output format. That of an interruption is the shell's.
const (
	exitAnswered = 0 // the question was answered
	exitFailed   = 1 // it could not be answered
	exitInput    = 2 // the usage or the input is wrong
	exitUnmet    = 3 // it was answered, and an expectation was not met
)

// streams are what a command reads from and writes to, and the plugins that it has. stdout holds the report alone.
type streams struct {
	in       io.Reader
	out, err io.Writer
	plugins  sched.Registry // that kube-scheduler does not have
}

// errUnmet reports that an expectation was not met; the report says which.
var errUnmet = errors.New("an expectation was not met")

// inputError is wrong usage or input. The hint, if any, says what to do.
type inputError struct {
	err  error
	hint string
}

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// Main runs the command line and returns the exit code. The options are for programs with plugins of their own.
func Main(args []string, in io.Reader, out, errOut io.Writer, opts ...Option) int {
	ctx, stop := untilInterrupted()
	defer stop()
	return execute(ctx, args, in, out, errOut, opts...)
}

func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, opts ...Option) int {
	klog.SetLogger(logr.Discard()) // upstream's log lines carry timestamps, and are meant for operators of a control plane
	own, err := register(opts)
	if err != nil {
		return exitCode(err, args, errOut)
	}
	root := newRoot(streams{in: in, out: out, err: errOut, plugins: own})
	root.SetArgs(args)
	root.SetIn(in)
	help := &checked{out: out}
	root.SetOut(help)
	root.SetErr(errOut)
	err = root.ExecuteContext(ctx)
	if interrupted(err) {
		err = context.Cause(ctx) // which knows the signal
	}
	return exitCode(cmp.Or(err, help.err), args, errOut)
}

// checked keeps the first error of its writer: cobra ignores errors when it prints help.
type checked struct {
	out io.Writer
	err error
}

func (c *checked) Write(data []byte) (int, error) {
	n, err := c.out.Write(data)
	c.err = cmp.Or(c.err, err)
	return n, err
}

func newRoot(s streams) *cobra.Command {
	var printVersion bool
	root := &cobra.Command{
		Use:   "simulate",
		Short: "Where will the real kube-scheduler put these pods, and which stay Pending?",
		Long: `simulate replays workloads through the real kube-scheduler plugins, in memory, and reports where each pod goes,
which pods stay Pending, and why, in one cluster or in several under Karmada. It needs no cluster.

Exit codes: 0 answered, 1 could not answer, 2 bad usage or input, 3 answered and an expectation was not met,
130 interrupted: the report, if any, is of what was known by then, and says so.`,
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
				_, err := io.WriteString(s.out, versions())
				return err
			}
			return cmd.Help()
		},
	}
	// cobra's own flag prints by a template, and a program that runs templates keeps every method of every type.
	root.Flags().BoolVarP(&printVersion, "version", "v", false, "version for simulate")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newRun(s), newBlast(s), newDrain(s), newExplain(s),
		newCompare(s), newSweep(s), newMerge(s), newCapacity(s), newSize(s), newAdvise(s),
		newLint(s),
		newTest(s), newDiff(s), newBench(s), newVerify(s),
		newExpand(s),
		newServe(s), newSite(s),
		newValidate(s), newExport(s), newSchema(s), newVersion(s), newCompletion(s))
	for _, cmd := range root.Commands() {
		completeFlags(cmd)
	}
	return root
}

// usage returns the error of a bad command line.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &inputError{err: fmt.Errorf(format, args...), hint: fmt.Sprintf("see '%s --help'", cmd.CommandPath())}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	if similar := cmd.Root().SuggestionsFor(name); len(similar) > 0 {
		return usage(cmd.Root(), "unknown command %q: did you mean %q?", name, similar[0])
	}
	return usage(cmd.Root(), "unknown command %q", name)
}

// flagError rewords pflag's errors, which name the parsing function.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		wanted := map[string]string{"uint64": "a whole number of at least 0", "int": "a whole number", "bool": "true or false"}[invalid.GetFlag().Value.Type()]
		return usage(cmd, "--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
	}
	return usage(cmd, "%s", err)
}

// noArguments rejects arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "%s takes no arguments, got %q", cmd.Name(), args[0])
	}
	return nil
}

// maxLine is how many characters of an error are printed, maxValue how many of an argument. What is wrong comes first, and what to do last.
const (
	maxLine  = 2000
	maxValue = 200
)

// exitCode writes the error, one line per problem, and returns its exit code. Text from arguments and files can neither start lines of its
// own nor control the terminal.
func exitCode(err error, args []string, errOut io.Writer) int {
	if err == nil {
		return exitAnswered
	}
	if errors.Is(err, errUnmet) {
		return exitUnmet
	}
	if interrupted(err) {
		fmt.Fprintln(errOut, "simulate: interrupted")
		cause := &interruption{}
		errors.As(err, &cause)
		return cause.status()
	}
	text := err.Error()
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, given := range []string{arg, value} {
			if strings.ContainsAny(given, " \r\n") { // a value that is not one word, and not in quotes
				text = strings.ReplaceAll(text, given, words.Short(manifest.Clean(given), maxValue))
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fmt.Fprintf(errOut, "simulate: error: %s\n", words.Short(manifest.Problem(strings.TrimRight(line, "\r\n")), maxLine))
	}
	var input *inputError
	var step *simulation.StepError
	switch {
	case errors.As(err, &input):
		if input.hint != "" {
			fmt.Fprintf(errOut, "simulate: hint: %s\n", input.hint)
		}
		return exitInput
	case errors.As(err, &step), errors.As(err, new(*world.InputError)):
		return exitInput
	}
	return exitFailed
}
