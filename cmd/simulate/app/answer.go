package app

import (
	"cmp"
	"errors"
	"io"
	"maps"
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
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// question is what a command asks. The frame checks the flags, shows the progress, and writes the report in each format that is asked for.
type question[R any] struct {
	in      *input.Flags // nil for a command that takes no scenario
	out     *output.Flags
	formats report.Formats[R]
	// check checks the command's own flags. Its problems are reported together with the problems of the output's flags. Default: no check.
	check func(c *call) error
	// ask answers. An error that comes with a report says that the report is a part of the answer, or that an expectation is not met.
	ask func(c *call) (*R, error)
	// write writes the report in one format. Default: as the formats do.
	write func(w io.Writer, r *R, format string, opts report.Options) error
}

// run is what a command runs that asks the question.
func (q question[R]) run(s streams) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return q.answer(newCall(cmd, s, q.in, args)) }
}

func (q question[R]) answer(c *call) error {
	defer c.bar.Done()
	problems := q.out.Check(c.Command, q.formats.Names())
	if q.check != nil {
		problems = errors.Join(problems, q.check(c))
	}
	if problems != nil {
		return problems
	}
	found, stopped := q.ask(c)
	c.bar.Done()
	if found == nil {
		return stopped
	}
	return cmp.Or(q.out.Write(c.streams.out, func(w io.Writer, format string, opts report.Options) error {
		switch {
		case c.page != nil && format == "html":
			return c.page.WriteHTML(w)
		case q.write != nil:
			return q.write(w, found, format, opts)
		}
		return q.formats.Write(w, found, format, opts)
	}), stopped)
}

// call is one call of a command.
type call struct {
	*cobra.Command
	streams
	in   *input.Flags
	args []string
	bar  *output.Progress
	page *page.Page // in place of the html of the formats, if it is set
}

func newCall(cmd *cobra.Command, s streams, in *input.Flags, args []string) *call {
	return &call{Command: cmd, streams: s, in: in, args: args, bar: output.NewProgress(s.err)}
}

func (c *call) usage(format string, args ...any) error { return exit.Usage(c.Command, format, args...) }

// load reads the scenario that the flags and these arguments name.
func (c *call) load(args []string) (*scenario.Scenario, error) {
	return c.in.Load(c.Command, c.streams.in, c.plugins, c.bar, args)
}

// run runs the scenario that the flags and these arguments name. Of an interrupted run the result has the first steps, if any.
func (c *call) run(args []string) (*simulation.Result, error) {
	s, err := c.load(args)
	if err != nil {
		return nil, err
	}
	defer c.bar.Clear()
	opts := simulation.Options{Progress: c.bar.Counts("pods")}
	if record := c.in.Record(); record != nil {
		opts.Record = func(_ string, owner cluster.Ref, pod *v1.Pod) *placement.Depth { return record(owner, pod) }
	}
	return simulation.Run(c.Context(), s, opts)
}

// loaded asks of the scenario that the command line names.
func loaded[R any](ask func(c *call, s *scenario.Scenario) (*R, error)) func(*call) (*R, error) {
	return func(c *call) (*R, error) {
		s, err := c.load(c.args)
		if err != nil {
			return nil, err
		}
		return ask(c, s)
	}
}

// ran asks of a run of the scenario that the command line names.
func ran[R any](ask func(c *call, result *simulation.Result) (*R, error)) func(*call) (*R, error) {
	return func(c *call) (*R, error) {
		result, err := c.run(c.args)
		if err != nil {
			return nil, err
		}
		return ask(c, result)
	}
}

// unless is the error of an answer: exit.ErrUnmet if it is whole and not what the user expects of it.
func unless(met bool, stopped error) error {
	if stopped == nil && !met {
		return exit.ErrUnmet
	}
	return stopped
}

// nothingNamed is that a command names no object that it could be about. It says which there are in what else is named.
func (c *call) nothingNamed(files []string, problem, remedy string, kinds []string) error {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil && file != manifest.Stdin {
			return c.usage("%s: %q is neither a file nor the name of an object; %s", problem, file, remedy)
		}
	}
	if len(files)+len(c.in.Cluster)+len(c.in.Files) == 0 && !c.in.Live(c.Command, files) {
		return c.usage("%s; %s", problem, remedy)
	}
	loaded, err := c.load(files)
	if err != nil {
		return err
	}
	var names []string
	for _, obj := range loaded.Objects() {
		if ref := cluster.RefTo(obj); slices.Contains(kinds, ref.Kind) && metav1.GetControllerOfNoCopy(obj) == nil && !slices.Contains(names, ref.Qualified()) {
			names = append(names, ref.Qualified())
		}
	}
	return c.usage("%s; %s; %s", problem, remedy, scenario.Choices("", names))
}

// namespacesIn are the namespaces in which there is a pod after some step.
func namespacesIn(result *simulation.Result) []string {
	found := map[string]bool{}
	for i := range result.Steps {
		for _, pod := range result.Steps[i].State.Pods {
			found[pod.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
