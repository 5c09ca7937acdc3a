// Package output writes a command's report: formats, files that are replaced as a whole, and a progress bar.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
)

// Flags are the flags that select the formats of a report, and the files that get it.
type Flags struct {
	Format  string
	Reports []string
	Options report.Options
}

// Register adds the flags of a command whose report has these formats. quiet says what -q prints. all says what --all lists; if it is "",
// there is no such flag.
func (o *Flags) Register(cmd *cobra.Command, formats []string, quiet, all string) {
	cmd.Flags().BoolVarP(&o.Options.Quiet, "quiet", "q", false, "print only "+quiet)
	if all != "" {
		cmd.Flags().BoolVar(&o.Options.All, "all", false, all)
	}
	cmd.Flags().StringVarP(&o.Format, "output", "o", formats[0], "output `FORMAT`: "+strings.Join(formats, ", "))
	cmd.Flags().StringArrayVar(&o.Reports, "report", nil, "also write the report to a file, as `FORMAT=FILE`, for example html=out.html (repeatable)")
	CompleteValues(cmd, "output", formats)
	var files []string
	for _, format := range formats {
		files = append(files, format+"=")
	}
	_ = cmd.RegisterFlagCompletionFunc("report", cobra.FixedCompletions(files, cobra.ShellCompDirectiveNoSpace))
}

// CompleteValues completes a flag with these values.
func CompleteValues(cmd *cobra.Command, flag string, values []string) {
	// The only possible error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Check rejects unknown formats, and options that exclude each other.
func (o *Flags) Check(cmd *cobra.Command, formats []string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case !slices.Contains(formats, o.Format):
		problem("-o %s: unknown format: use one of %s", o.Format, strings.Join(formats, ", "))
	case (o.Options.Quiet || o.Options.All) && o.Format != "text" && o.Format != "wide":
		problem("-q and --all have no effect on -o %s, only on text and wide; leave them out", o.Format)
	case o.Options.Quiet && o.Options.All:
		problem("-q and --all cannot be used together; give one of them")
	}
	var files []string
	for _, given := range o.Reports {
		format, file, found := strings.Cut(given, "=")
		switch {
		case !found || file == "":
			problem("--report %q: not of the form FORMAT=FILE; give, for example, html=out.html", given)
			continue
		case !slices.Contains(formats, format):
			problem("--report %s: unknown format: use one of %s", given, strings.Join(formats, ", "))
		case file == manifest.Stdin:
			problem("--report %s: standard output already holds the report of -o; name a file, or give -o %s", given, format)
		case slices.Contains(files, filepath.Clean(file)):
			problem("--report %s: another report goes to this file; give each its own", given)
		}
		files = append(files, filepath.Clean(file))
	}
	return errors.Join(exit.UsageProblems(cmd, problems...), CheckFiles(cmd))
}

// Has reports whether the user asked for the format.
func (o *Flags) Has(format string) bool {
	return o.Any(func(asked string, _ report.Options) bool { return asked == format })
}

// Any reports whether is returns true for one of the requested formats and its options.
func (o *Flags) Any(is func(format string, opts report.Options) bool) bool {
	return is(o.Format, o.Options) || slices.ContainsFunc(o.Reports, func(given string) bool {
		format, _, _ := strings.Cut(given, "=")
		return is(format, report.Options{})
	})
}

// Write renders the report in each requested format. It writes no file before all are rendered, and replaces each file as a whole.
func (o *Flags) Write(out io.Writer, render func(w io.Writer, format string, opts report.Options) error) error {
	drafts := make([]*draft, len(o.Reports))
	for i, given := range o.Reports {
		format, file, _ := strings.Cut(given, "=")
		drafts[i] = newDraft(file)
		defer drafts[i].discard()
		if err := render(drafts[i], format, report.Options{}); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	for i, given := range o.Reports {
		if err := drafts[i].replaceFile(); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	opts := o.Options
	opts.Color = isTerminal(out) && os.Getenv("NO_COLOR") == ""
	if o.Format != "wide" {
		opts.Width = lineWidth(out)
	}
	return render(out, o.Format, opts)
}
