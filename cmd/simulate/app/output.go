package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario/loader"
)

// draft is the new content of a file, which replaces the old one as a whole when it is kept, so that nobody, not even after a crash, sees
// half of it. What is not a regular file, or is in a folder where no file can be created, is written in place; its draft is in memory.
type draft struct {
	io.Writer
	file string
	mode os.FileMode
	next *os.File // beside the file; nil if the draft is in memory
	held bytes.Buffer
}

func newDraft(file string) *draft {
	d := &draft{file: file, mode: 0o644}
	d.Writer = &d.held
	switch info, err := os.Lstat(file); {
	case err == nil && !info.Mode().IsRegular():
		return d
	case err == nil:
		d.mode = info.Mode().Perm()
	}
	if next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*"); err == nil {
		d.next, d.Writer = next, next
	}
	return d
}

func (d *draft) keep() error {
	if d.next == nil {
		return os.WriteFile(d.file, d.held.Bytes(), d.mode)
	}
	if err := errors.Join(d.next.Chmod(d.mode), d.next.Sync(), d.next.Close()); err != nil {
		return err
	}
	return os.Rename(d.next.Name(), d.file)
}

// discard leaves nothing of a draft that was not kept.
func (d *draft) discard() {
	if d.next != nil {
		_ = d.next.Close()
		_ = os.Remove(d.next.Name())
	}
}

// output are the flags that select the formats of the report and where it goes.
type output struct {
	format  string
	reports []string
	opts    report.Options
}

func (o *output) register(cmd *cobra.Command, formats []string) {
	cmd.Flags().StringVarP(&o.format, "output", "o", formats[0], "output `FORMAT`: "+strings.Join(formats, ", "))
	cmd.Flags().StringArrayVar(&o.reports, "report", nil, "also write the report to a file, as `FORMAT=FILE`, for example html=out.html (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	var files []string
	for _, format := range formats {
		files = append(files, format+"=")
	}
	_ = cmd.RegisterFlagCompletionFunc("report", cobra.FixedCompletions(files, cobra.ShellCompDirectiveNoSpace))
}

// check rejects unknown formats, and options that exclude each other.
func (o *output) check(cmd *cobra.Command, formats []string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case !slices.Contains(formats, o.format):
		problem("-o %s: unknown format: use one of %s", o.format, strings.Join(formats, ", "))
	case (o.opts.Quiet || o.opts.All) && o.format != "text" && o.format != "wide":
		problem("-q and --all have no effect on -o %s, only on text and wide; leave them out", o.format)
	case o.opts.Quiet && o.opts.All:
		problem("-q and --all cannot be used together; give one of them")
	}
	inputs := inputFiles(cmd)
	var files []string
	for _, given := range o.reports {
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
	if err := errors.Join(problems...); err != nil {
		return usage(cmd, "%s", err)
	}
	return nil
}

// inputFiles returns the files that the command line names to read, including the scenario file of a folder.
func inputFiles(cmd *cobra.Command) []string {
	files := slices.Clone(cmd.Flags().Args())
	cmd.Flags().Visit(func(flag *pflag.Flag) {
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

// has reports whether the format is asked for.
func (o *output) has(format string) bool {
	return o.any(func(asked string, _ report.Options) bool { return asked == format })
}

// any reports whether it is true of one of the formats asked for, with its options.
func (o *output) any(is func(format string, opts report.Options) bool) bool {
	return is(o.format, o.opts) || slices.ContainsFunc(o.reports, func(given string) bool {
		format, _, _ := strings.Cut(given, "=")
		return is(format, report.Options{})
	})
}

// write renders the report in each format asked for. No file is written before all are rendered, and each is replaced as a whole.
func (o *output) write(s streams, render func(w io.Writer, format string, opts report.Options) error) error {
	drafts := make([]*draft, len(o.reports))
	for i, given := range o.reports {
		format, file, _ := strings.Cut(given, "=")
		drafts[i] = newDraft(file)
		defer drafts[i].discard()
		if err := render(drafts[i], format, report.Options{Width: defaultWidth}); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	for i, given := range o.reports {
		if err := drafts[i].keep(); err != nil {
			return fmt.Errorf("--report %s: %w", given, err)
		}
	}
	opts := o.opts
	opts.Color = isTerminal(s.out) && os.Getenv("NO_COLOR") == ""
	if o.format != "wide" {
		opts.Width = width(s.out)
	}
	return render(s.out, o.format, opts)
}

// defaultWidth is how many characters a line of text has where there is no terminal.
const defaultWidth = 100

// width is how many characters a line of text may have: COLUMNS, the terminal's, or the default.
func width(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}
