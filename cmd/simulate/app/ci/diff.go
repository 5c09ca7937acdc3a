package ci

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/run"
)

func newDiff(s command.Streams) *cobra.Command {
	var fails command.Unwanted
	var out output.Flags
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what differs between two stored reports, and fail on unwanted differences",
		Long: `Compare two reports written by "simulate run -o json", or two by "simulate blast -o json": which pods moved and which score
decided, which are newly Pending and why, and which failures take more. Reports may also be YAML; - is standard input.

The exit code is 0 whatever differs. With --fail-on it is 3 if there are differences of these kinds:
  moved          a pod runs on another node (run)
  pending        a workload has more Pending pods after any step (run, blast)
  expectations   an expectation is newly unmet (run)
  radius         a workload of several replicas loses more beyond an even spread, or has at most one left (blast)
  stranded       a failure leaves more pods of a workload stranded than any did before (blast)
  rules-removed  a workload drops or weakens a placement rule, a budget or its priority, or drops a request (run, blast)
  any            any of these, or anything else that is worse (run, blast)

A blast radius that is larger only because there are more replicas is shown, but is not worse: no placement would lose fewer.
Steps are matched by name; one that is new is compared with nothing. Different versions, ties, feature gates or clusters are
reported, but do not count as differences.`,
		Example: `  simulate diff old.json new.json
  simulate run scenario.yaml -o json | simulate diff main.json - --fail-on pending,expectations
  simulate diff old.json new.json -o markdown --fail-on any`,
		RunE: command.Question[diff.Report]{
			Output: &out, Formats: diff.Formats,
			Ask: func(c *command.Call) (*diff.Report, error) {
				if len(c.Args) != 2 {
					return nil, c.Usage("got %d reports, want two; give the old one and the new one", len(c.Args))
				}
				if c.Args[0] == manifest.Stdin && c.Args[1] == manifest.Stdin {
					return nil, c.Usage("standard input can only be read once; give - for one of the reports")
				}
				found, err := compareFiles(c, c.Args[0], c.Args[1])
				if err != nil {
					return nil, err
				}
				if err := fails.Check(c.Command, found.Of); err != nil {
					return nil, err
				}
				return fails.Judge(found)
			},
		}.Run(s),
	}
	fails.Register(cmd, []string{expect.FailOnMoved, expect.FailOnPending, expect.FailOnExpectations, expect.FailOnRadius, expect.FailOnStranded, expect.FailOnRules, expect.FailOnAny})
	out.Register(cmd, diff.Formats.Names(), "the verdict, on one line", "list every difference, however many there are")
	return cmd
}

// compareFiles reads and compares two reports of one kind.
func compareFiles(c *command.Call, oldFile, newFile string) (*diff.Report, error) {
	var kinds [2]string
	var data [2][]byte
	for i, file := range []string{oldFile, newFile} {
		var err error
		if data[i], err = c.ReadReport(file); err != nil {
			return nil, err
		}
		if kinds[i], err = report.KindOf(file, data[i]); err != nil {
			return nil, exit.InvalidInput(err)
		}
		if kinds[i] != run.Kind && kinds[i] != blast.Kind {
			return nil, c.Usage("%s: kind %q cannot be compared; give reports of simulate run -o json or simulate blast -o json, of kind %s or %s",
				file, kinds[i], run.Kind, blast.Kind)
		}
	}
	if kinds[0] != kinds[1] {
		return nil, c.Usage("%s is a %s and %s a %s; give two reports of one kind", oldFile, kinds[0], newFile, kinds[1])
	}
	files := [2]string{oldFile, newFile}
	if kinds[0] == run.Kind {
		return decodeAndCompare(files, data, c.ToolVersion, run.Decode, diff.New)
	}
	return decodeAndCompare(files, data, c.ToolVersion, blast.Decode, diff.NewBlast)
}

// decodeAndCompare compares two reports of a kind.
func decodeAndCompare[R any](files [2]string, data [2][]byte, version string, decode func(file string, data []byte) (*R, error), compare func(old, new *R, version string) *diff.Report) (*diff.Report, error) {
	old, err := decode(files[0], data[0])
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	new, err := decode(files[1], data[1])
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	found := compare(old, new, version)
	found.Old.File, found.New.File = files[0], files[1]
	return found, nil
}
