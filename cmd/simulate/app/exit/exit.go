// Package exit ends a command: exit codes, errors about the input, and interruptions.
package exit

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Exit codes. They never depend on the output format. An interrupted command exits with 128 and the number of the signal, as in a shell.
const (
	Answered = 0 // the question was answered
	Failed   = 1 // the question could not be answered
	Invalid  = 2 // the usage or the input is wrong
	Unmet    = 3 // the question was answered, and an expectation was not met
)

// ErrUnmet is the error of a report in which an expectation is not met. The report names the expectation.
var ErrUnmet = errors.New("an expectation was not met")

// inputError is an error about usage or input. The hint, if any, says what to do.
type inputError struct {
	err  error
	hint string
}

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// Usage returns an error about the command line, with a hint at the command's help.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return &inputError{err: fmt.Errorf(format, args...), hint: fmt.Sprintf("see '%s --help'", cmd.CommandPath())}
}

// UsageProblems joins these problems of the command line into one usage error. It returns nil if there are none.
func UsageProblems(cmd *cobra.Command, problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return Usage(cmd, "%s", err)
	}
	return nil
}

// InvalidInput marks an error as one about the input, so that the exit code is Invalid. It returns nil for nil.
func InvalidInput(err error) error {
	if err == nil || errors.As(err, new(*inputError)) {
		return err
	}
	return &inputError{err: err}
}

// MaxLine and maxValue bound the characters of an error and of an argument in it. The middle is cut out: an error begins with the problem
// and ends with the remedy.
const (
	MaxLine  = 2000
	maxValue = 200
)

// CodeError is the error that another program, which has said why, has ended with an exit code. The command ends with the same.
type CodeError int

// Error says which code it is.
func (e CodeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// OfProgram returns the error of a program that has run: a CodeError if it has ended by itself.
func OfProgram(err error) error {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
		return CodeError(failed.ExitCode())
	}
	return err
}

// PrintError prints the error, one line per problem, each after the program's name, and returns the exit code.
func PrintError(program string, err error, args []string, errOut io.Writer) int {
	if err == nil {
		return Answered
	}
	if errors.Is(err, ErrUnmet) {
		return Unmet
	}
	if code := CodeError(0); errors.As(err, &code) {
		return int(code)
	}
	if Interrupted(err) {
		fmt.Fprintf(errOut, "%s: interrupted\n", program)
		cause := &interruption{}
		errors.As(err, &cause)
		return cause.status()
	}
	for _, line := range ErrorLines(err, args) {
		fmt.Fprintf(errOut, "%s: error: %s\n", program, line)
	}
	if strings.Contains(err.Error(), "field is immutable") {
		fmt.Fprintf(errOut, "%s: hint: delete the object first, or give it another name; with kubectl delete --cascade=orphan its pods stay\n", program)
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

// ErrorLines returns the error's lines, one for each problem. Text from arguments and files can neither start a line of its own nor control the
// terminal.
func ErrorLines(err error, args []string) (lines []string) {
	text := err.Error()
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, given := range []string{arg, value} {
			if strings.ContainsAny(given, " \r\n") { // a value of several words that is not quoted
				text = strings.ReplaceAll(text, given, words.Shorten(manifest.Clean(given), maxValue))
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, words.Shorten(manifest.RewordProblem(strings.TrimRight(line, "\r\n")), MaxLine))
	}
	return lines
}
