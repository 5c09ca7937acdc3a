package ci

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	asklint "github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/findings"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/simulation"
)

func newLint(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var chosen asklint.Options
	var failOn, baseline string
	var listed bool
	var out output.Flags
	var timeout command.Timeout
	check := func(c *command.Call) error {
		var problems error
		if listed && (out.Format == "sarif" || len(out.Reports) > 0) {
			problems = c.Usage("--list prints text, json or yaml; leave out -o sarif and --report")
		}
		return errors.Join(checkLint(c, chosen, failOn), problems)
	}
	var known *lint.Report
	ask := func(c *command.Call, result *simulation.Result) (*lint.Report, error) {
		if err := in.Namespace.Check(c.Command, "pod", input.NamespacesIn(result)); err != nil {
			return nil, err
		}
		chosen.Progress = c.Bar.Counts("workloads")
		linted, stopped := asklint.Run(c.Context(), result, chosen)
		if linted == nil {
			return nil, stopped
		}
		if only := in.Namespace.Listed(); only != "" {
			linted.Findings = slices.DeleteFunc(linted.Findings, func(f asklint.Finding) bool { return f.Object.Namespace != only })
			linted.IgnoredFindings = slices.DeleteFunc(linted.IgnoredFindings, func(i asklint.Ignored) bool { return i.Object.Namespace != only })
		}
		found := lint.New(linted, c.ToolVersion)
		if known != nil {
			found.SetKnown(known)
		}
		if out.Any(func(format string, _ report.Options) bool { return findings.IsFormat(format) }) {
			found.Locate(func(file string) ([]byte, error) { return manifest.ReadFile(nil, nil, file) })
		}
		return found, command.UnmetUnless(!found.Fails(failOn), stopped)
	}
	cmd := &cobra.Command{
		Use:   "lint [SCENARIO | MANIFEST...]",
		Short: "Find rules that do not do what they say",
		Long: `Find rules that do not do what they say, such as selectors that miss their own pods, hard rules that cannot be met, and rollouts
that would never finish. Some checks read the rules and the nodes. Others run the scenario, and again without a rule or with a
restart. If no nodes are given, nine in three zones are assumed.

The exit code is 3 if a finding is at least as severe as --fail-on, by default an error. To ignore an intended rule, annotate the
object and give a reason: ` + asklint.IgnoreAnnotation + `: "CHECK: reason; CHECK: reason".

With --baseline, findings that an earlier report has, too, are set aside: only new ones are listed, and fail.`,
		Example: `  simulate lint scenario.yaml
  simulate lint -f app.yaml
  simulate lint --cluster nodes.yaml -f app.yaml --fail-on warning
  helm template app ./chart | simulate lint --cluster nodes.yaml -f - -o sarif
  simulate lint scenario.yaml --baseline main.json -o github
  simulate lint --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q := command.Question[lint.Report]{Input: &in, Output: &out, Formats: lint.Formats, Timeout: &timeout, Check: check, Ask: func(c *command.Call) (*lint.Report, error) {
				if baseline != "" { // read first, so that an unreadable file costs no time
					data, err := c.ReadReport(baseline)
					if err != nil {
						return nil, err
					}
					if known, err = lint.Decode(baseline, data); err != nil {
						return nil, exit.InvalidInput(err)
					}
				}
				return command.AskRun(ask)(c)
			}}
			if listed {
				q.Ask = func(*command.Call) (*lint.Report, error) { return &lint.Report{}, nil }
				q.Write = func(w io.Writer, _ *lint.Report, format string, _ report.Options) error {
					return lint.WriteChecks(w, asklint.Checks(), format)
				}
			}
			return q.Run(s)(cmd, args)
		},
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	in.Namespace.Register(cmd, true)
	flags.StringSliceVar(&chosen.Only, "only", nil, "run only these `CHECKS` (repeatable, or comma-separated)")
	flags.StringSliceVar(&chosen.Disable, "disable", nil, "skip these `CHECKS` (repeatable, or comma-separated)")
	flags.StringVar(&failOn, "fail-on", string(asklint.Error), "exit with 3 if there is a finding of this `SEVERITY` or higher: "+strings.Join(severityNames(), ", "))
	flags.StringVar(&baseline, "baseline", "", "compare with the report that -o json wrote to this `FILE`, and fail only on findings that it does not have")
	flags.BoolVar(&listed, "list", false, "list all checks, and run none")
	timeout.Register(cmd)
	out.Register(cmd, lint.Formats.Names(), "the verdict, and how many findings each check has", "list every finding, those ignored included")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(severityNames(), cobra.ShellCompDirectiveNoFileComp))
	for _, flag := range []string{"only", "disable"} {
		output.CompleteValues(cmd, flag, checkIDs())
	}
	return cmd
}

// checkLint rejects unknown checks and severities.
func checkLint(c *command.Call, chosen asklint.Options, failOn string) error {
	for _, id := range slices.Concat(chosen.Only, chosen.Disable) {
		if !slices.Contains(checkIDs(), id) {
			return c.Usage("unknown check %q: use one of those listed by simulate lint --list", id)
		}
	}
	return checkSeverity(c.Command, "--fail-on", failOn)
}

func checkSeverity(cmd *cobra.Command, flag, severity string) error {
	if !slices.Contains(severityNames(), severity) {
		return exit.Usage(cmd, "%s: unknown severity %q: use one of %s", flag, severity, strings.Join(severityNames(), ", "))
	}
	return nil
}

func checkIDs() []string {
	var ids []string
	for _, check := range asklint.Checks() {
		ids = append(ids, check.ID)
	}
	return ids
}

func severityNames() []string {
	var all []string
	for _, severity := range asklint.Severities {
		all = append(all, string(severity))
	}
	return append(all, "none")
}
