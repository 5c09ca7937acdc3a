// Package command has the parts of every command: a call, the question that it asks, and the comparison with a stored report.
package command

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Streams are the input and outputs of a command, its additional scheduler plugins, and Faultline's version. Only the report goes to Out.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	Plugins     sched.Registry // plugins that kube-scheduler does not have
	ToolVersion string
	// Given, if set, is input that is in memory.
	Given *input.Given
	// Receive, if set, gets the answer of a question. Then nothing goes to Out, and no file is written.
	Receive func(*Answer)
}

// Answer is the answer of a question, for a caller that is a program.
type Answer struct {
	// Write writes the report in one of its formats.
	Write func(w io.Writer, format string, opts report.Options) error
	// Proof has the input and what the answer claims, as a file that simulate test runs. It is nil if the answer claims nothing or is incomplete,
	// or if the input cannot be put into a file, for the reason NoProof.
	Proof   []byte
	NoProof error
}

// Runner runs a command of the program, which the arguments name.
type Runner func(ctx context.Context, s Streams, args []string) error

// LoaderOptions returns the loader's options with these plugins.
func (s Streams) LoaderOptions() loader.Options {
	return loader.Options{ConfigOptions: sched.ConfigOptions{Plugins: s.Plugins}}
}

// Call is one call of a command.
type Call struct {
	*cobra.Command
	Streams
	Input *input.Flags
	Args  []string
	Bar   *output.Progress
	Page  *page.Page // if set, the html format is this page

	proof   []byte // the claims as a scenario file, if somebody receives them
	noProof error
}

// NewCall returns a call with these arguments.
func NewCall(cmd *cobra.Command, s Streams, in *input.Flags, args []string) *Call {
	if s.Given != nil && in != nil {
		in.Give(s.Given)
	}
	return &Call{Command: cmd, Streams: s, Input: in, Args: args, Bar: output.NewProgress(s.Err)}
}

// Usage returns an error about the command line, with a hint at the command's help.
func (c *Call) Usage(format string, args ...any) error { return exit.Usage(c.Command, format, args...) }

// Load reads the scenario that the flags and these arguments name.
func (c *Call) Load(args []string) (*scenario.Scenario, error) {
	return c.Input.Load(c.Command, c.Streams.In, c.Plugins, c.Bar, args)
}

// Run runs the scenario that the flags and these arguments name. If it is interrupted, the result has the steps that were finished, if any.
func (c *Call) Run(args []string) (*simulation.Result, error) {
	s, err := c.Load(args)
	if err != nil {
		return nil, err
	}
	defer c.Bar.Clear()
	opts := simulation.Options{Progress: c.Bar.Counts("pods")}
	if record := c.Input.Record(); record != nil {
		opts.Record = func(_ string, owner cluster.Ref, pod *v1.Pod) *placement.Depth { return record(owner, pod) }
	}
	return simulation.Run(c.Context(), s, opts)
}

// NoObjectError returns the error of a command line that names no object of these kinds. The error lists the objects that the input has.
func (c *Call) NoObjectError(files []string, problem, remedy string, kinds []string) error {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil && file != manifest.Stdin {
			return c.Usage("%s: %q is neither a file nor the name of an object; %s", problem, file, remedy)
		}
	}
	if len(files)+len(c.Input.Cluster)+len(c.Input.Files) == 0 && !c.Input.Live(c.Command, files) {
		return c.Usage("%s; %s", problem, remedy)
	}
	loaded, err := c.Load(files)
	if err != nil {
		return err
	}
	var names []string
	for _, obj := range loaded.Objects() {
		if ref := cluster.RefTo(obj); slices.Contains(kinds, ref.Kind) && metav1.GetControllerOfNoCopy(obj) == nil && !slices.Contains(names, ref.Qualified()) {
			names = append(names, ref.Qualified())
		}
	}
	return c.Usage("%s; %s; %s", problem, remedy, scenario.ListChoices("", names))
}

// ReadReport reads a stored report.
func (c *Call) ReadReport(file string) ([]byte, error) {
	data, err := exit.CallInterruptibly(c.Context(), func() ([]byte, error) { return manifest.ReadFile(nil, c.Streams.In, file) })
	return data, exit.InvalidInput(err)
}

// NoArguments rejects arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usage(cmd, "%s takes no arguments, got %q", cmd.Name(), args[0])
	}
	return nil
}
