// Package exit says how a command ends: its exit code, what is wrong with its input, and that it was interrupted.
package exit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Exit codes. They never depend on the output format. That of an interruption is the shell's.
const (
	Answered = 0 // the question was answered
	Failed   = 1 // it could not be answered
	Invalid  = 2 // the usage or the input is wrong
	Unmet    = 3 // it was answered, and an expectation was not met
)

// ErrUnmet reports that an expectation was not met; the report says which.
var ErrUnmet = errors.New("an expectation was not met")

// inputError is wrong usage or input. The hint, if any, says what to do.
type inputError struct {
	err  error
	hint string
}

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// Usage returns the error of a bad command line.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return &inputError{err: fmt.Errorf(format, args...), hint: fmt.Sprintf("see '%s --help'", cmd.CommandPath())}
}

// Wrong returns the error of a command line with these problems; nil if there are none.
func Wrong(cmd *cobra.Command, problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return Usage(cmd, "%s", err)
	}
	return nil
}

// Input marks an error, if there is one, as wrong input.
func Input(err error) error {
	if err == nil || errors.As(err, new(*inputError)) {
		return err
	}
	return &inputError{err: err}
}

// MaxLine is how many characters of an error are printed, maxValue how many of an argument. What is wrong comes first, and what to do last.
const (
	MaxLine  = 2000
	maxValue = 200
)

// Code writes the error, one line per problem after the program's name, and returns its exit code. Text from arguments and files can neither start lines of its
// own nor control the terminal.
func Code(program string, err error, args []string, errOut io.Writer) int {
	if err == nil {
		return Answered
	}
	if errors.Is(err, ErrUnmet) {
		return Unmet
	}
	if Interrupted(err) {
		fmt.Fprintf(errOut, "%s: interrupted\n", program)
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
		fmt.Fprintf(errOut, "%s: error: %s\n", program, words.Short(manifest.Problem(strings.TrimRight(line, "\r\n")), MaxLine))
	}
	var input *inputError
	var step *simulation.StepError
	switch {
	case errors.As(err, &input):
		if input.hint != "" {
			fmt.Fprintf(errOut, "%s: hint: %s\n", program, input.hint)
		}
		return Invalid
	case errors.As(err, &step), errors.As(err, new(*world.InputError)):
		return Invalid
	}
	return Failed
}
