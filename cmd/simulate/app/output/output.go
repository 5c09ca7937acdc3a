// Package output is where a command's report goes: the formats asked for, files that are replaced as a whole, and the bar that shows progress.
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
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report"
)

// Flags are the flags that select the formats of the report and where it goes.
type Flags struct {
	Format  string
	Reports []string
	Options report.Options
}

// Register adds the flags of a command whose report has these formats. They say what -q prints, and what --all lists if there is such a flag.
func (o *Flags) Register(cmd *cobra.Command, formats []string, quiet, all string) {
	cmd.Flags().BoolVarP(&o.Options.Quiet, "quiet", "q", false, "print only "+quiet)
	if all != "" {
		cmd.Flags().BoolVar(&o.Options.All, "all", false, all)
	}
	cmd.Flags().StringVarP(&o.Format, "output", "o", formats[0], "output `FORMAT`: "+strings.Join(formats, ", "))
	cmd.Flags().StringArrayVar(&o.Reports, "report", nil, "also write the report to a file, as `FORMAT=FILE`, for example html=out.html (repeatable)")
	CompleteWith(cmd, "output", formats)
	var files []string
	for _, format := range formats {
		files = append(files, format+"=")
	}
	_ = cmd.RegisterFlagCompletionFunc("report", cobra.FixedCompletions(files, cobra.ShellCompDirectiveNoSpace))
}

// CompleteWith completes the values of a flag, which are few.
func CompleteWith(cmd *cobra.Command, flag string, values []string) {
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
	inputs := inputFiles(cmd, "")
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
		default:
			if err := writable(cmd, file, inputs); err != nil {
				problem("--report %s: %w", given, err)
			}
		}
		files = append(files, filepath.Clean(file))
	}
	return exit.Wrong(cmd, problems...)
}

// Writable rejects a file of a flag that cannot be created, or is an input.
func Writable(cmd *cobra.Command, flag, file string) error {
	if err := writable(cmd, file, inputFiles(cmd, flag)); err != nil {
		return exit.Usage(cmd, "--%s %s: %s", flag, file, err)
	}
	return nil
}

// inputFiles returns the files that the command line names to read, including the scenario file of a folder. The named flag gives none.
func inputFiles(cmd *cobra.Command, besides string) []string {
	files := slices.Clone(cmd.Flags().Args())
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == besides {
			return
		}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			files = append(files, several.GetSlice()...)
		} else {
			files = append(files, flag.Value.String())
		}
	})
	for _, file := range slices.Clone(files) {
		files = append(files, filepath.Join(file, loader.FileName))
	}
	return files
}

// writable finds early what would otherwise fail after the report is made: that the file cannot be created, or is an input.
func writable(cmd *cobra.Command, file string, inputs []string) error {
	folder := filepath.Dir(file)
	results := cmd.Flags().Lookup("results") // created if missing
	if info, err := os.Stat(folder); (err != nil || !info.IsDir()) && (results == nil || filepath.Clean(results.Value.String()) != folder) {
		return fmt.Errorf("no such folder %s; create it, or name another file", folder)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	if info.IsDir() {
		return errors.New("is a folder; name a file in it")
	}
	for _, name := range inputs {
		if input, err := os.Stat(name); err == nil && os.SameFile(info, input) {
			return fmt.Errorf("would overwrite the input %s; name another file", name)
		}
	}
	return nil
}

// Has reports whether the format is asked for.
func (o *Flags) Has(format string) bool {
	return o.Any(func(asked string, _ report.Options) bool { return asked == format })
}

// Any reports whether it is true of one of the formats asked for, with its options.
func (o *Flags) Any(is func(format string, opts report.Options) bool) bool {
	return is(o.Format, o.Options) || slices.ContainsFunc(o.Reports, func(given string) bool {
		format, _, _ := strings.Cut(given, "=")
		return is(format, report.Options{})
	})
}

// Write renders the report in each format asked for. No file is written before all are rendered, and each is replaced as a whole.
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
		if err := drafts[i].keep(); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	opts := o.Options
	opts.Color = isTerminal(out) && os.Getenv("NO_COLOR") == ""
	if o.Format != "wide" {
		opts.Width = width(out)
	}
	return render(out, o.Format, opts)
}
