package app

import (
	"cmp"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/report"
)

// answer is the frame of a command that asks a question: it checks the flags, asks, and writes the report in each format asked for. The
// problems are those of the command's own flags, which are reported with those of the output. An error that comes with a report says that the
// report is a part of the answer, or that an expectation is not met; the report is written first.
func answer[R any](cmd *cobra.Command, s streams, out *output, formats report.Formats[R], problems error, ask func() (*R, error)) error {
	return out.answer(cmd, s, formats.Names(), problems, func() (rendering, error) {
		found, err := ask()
		if found == nil {
			return nil, err
		}
		return func(w io.Writer, format string, opts report.Options) error {
			return formats.Write(w, found, format, opts)
		}, err
	})
}

// rendering writes a report in one format.
type rendering func(w io.Writer, format string, opts report.Options) error

// answer is the frame for reports of which one format is written in another way than the rest.
func (o *output) answer(cmd *cobra.Command, s streams, formats []string, problems error, ask func() (rendering, error)) error {
	if err := errors.Join(o.check(cmd, formats), problems); err != nil {
		return err
	}
	render, err := ask()
	if render == nil {
		return err
	}
	return cmp.Or(o.write(s, render), err)
}

// unless is the error of an answer: errUnmet if it is whole and not what the user expects of it.
func unless(met bool, stopped error) error {
	if stopped == nil && !met {
		return errUnmet
	}
	return stopped
}
