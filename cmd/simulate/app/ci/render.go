package ci

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// rendered is what a command has printed, or its error.
type rendered struct {
	text []byte
	err  error
}

func newRendered(text []byte, err error) rendered { return rendered{text, err} }

// isEmpty reports whether the command has printed no object, such as only the comments that helm prints for templates that make none.
func (r *rendered) isEmpty() bool { return r.err == nil && !hasText.Match(r.text) }

// hasText matches a line that is no comment and does not only separate documents.
var hasText = regexp.MustCompile(`(?m)^(?:[^-#\s]|-[^-]|(?:---)?[ \t]+[^#\s])`)

// renderHead runs a shell command in the working directory and returns its output. In a git hook the command does not see the variables by
// which git names its repository and index: helm and kustomize call git in folders of their own.
func renderHead(c *command.Call, base *checkout, shell string) ([]byte, error) {
	program := exec.Command("sh", "-c", shell)
	if base != nil {
		program.Env = base.environ
	}
	return render(c, program)
}

// renderBase runs a shell command in the folder of the base that stands for the working directory. There git finds the base.
func renderBase(c *command.Call, base *checkout, shell string) ([]byte, error) {
	program := exec.Command("sh", "-c", shell)
	program.Dir = base.pathInTree(".")
	program.Env = append(base.outside[:len(base.outside):len(base.outside)], "PWD="+program.Dir)
	printed, err := render(c, program)
	if failed := (*programError)(nil); errors.As(err, &failed) {
		failed.problems = base.withoutTreeName(failed.problems)
	}
	return printed, err
}

// render returns the program's output. Its error has only the line of standard error that says what is wrong: the first that begins with Error,
// as those of helm and kustomize do before their hints, or else the last one.
func render(c *command.Call, program *exec.Cmd) ([]byte, error) {
	printed, err := capture(c.Context(), program)
	if failed := (*programError)(nil); errors.As(err, &failed) {
		lines := strings.Split(strings.TrimSpace(failed.problems), "\n")
		failed.problems = lines[len(lines)-1]
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Error") }); i >= 0 {
			failed.problems = lines[i]
		}
	}
	return printed, err
}
