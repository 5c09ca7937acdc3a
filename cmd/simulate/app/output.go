package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/report"
)

// writeWhole puts the data in the place of a file, so that nobody, not even after a crash, sees half of it there. What is no file, or
// is in a folder where none can be made, is written to as it is.
func writeWhole(file string, data []byte) error {
	mode := os.FileMode(0o644)
	switch info, err := os.Lstat(file); {
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(file, data, mode)
	case err == nil:
		mode = info.Mode().Perm()
	}
	next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return os.WriteFile(file, data, mode)
	}
	_, err = next.Write(data)
	if err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// output are the flags that say in which formats the report is written, and where to.
type output struct {
	format  string
	reports []string
	opts    report.Options
	formats []string
}

func (o *output) register(cmd *cobra.Command, formats []string) {
	o.formats = formats
	cmd.Flags().StringVarP(&o.format, "output", "o", formats[0], "`FORMAT` of the report: "+strings.Join(formats, ", "))
	cmd.Flags().StringArrayVar(&o.reports, "report", nil, "write the report to a file, too, as `FORMAT=FILE`, for example html=out.html (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// check finds formats that there are not, and options that do not go with each other.
func (o *output) check(cmd *cobra.Command) error {
	switch {
	case !slices.Contains(o.formats, o.format):
		return usage(cmd, "-o %s: there is no such format; give %s", o.format, strings.Join(o.formats, ", "))
	case (o.opts.Quiet || o.opts.All) && o.format != "text" && o.format != "wide":
		return usage(cmd, "-q and --all choose what -o text and wide show, and have no effect on -o %s; leave them out", o.format)
	case o.opts.Quiet && o.opts.All:
		return usage(cmd, "-q asks for one line a step and --all for everything; give one of them")
	}
	var problems []string
	for _, given := range o.reports {
		format, file, found := strings.Cut(given, "=")
		switch {
		case !found || file == "":
			problems = append(problems, fmt.Sprintf("--report %q: give it as FORMAT=FILE, for example html=out.html", given))
		case !slices.Contains(o.formats, format):
			problems = append(problems, fmt.Sprintf("--report %s: there is no such format; give %s", given, strings.Join(o.formats, ", ")))
		}
	}
	if len(problems) > 0 {
		return usage(cmd, "%s", strings.Join(problems, "\n"))
	}
	return nil
}

// has tells whether the format is among those asked for.
func (o *output) has(format string) bool {
	return o.format == format || slices.ContainsFunc(o.reports, func(given string) bool { return strings.HasPrefix(given, format+"=") })
}

// write renders the report in each format asked for. A file is replaced once its report is whole.
func (o *output) write(s streams, render func(w io.Writer, format string, opts report.Options) error) error {
	for _, given := range o.reports {
		format, file, _ := strings.Cut(given, "=")
		var out bytes.Buffer
		if err := render(&out, format, report.Options{}); err != nil {
			return err
		}
		if err := writeWhole(file, out.Bytes()); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	opts := o.opts
	opts.Color = isTerminal(s.out) && os.Getenv("NO_COLOR") == ""
	return render(s.out, o.format, opts)
}
