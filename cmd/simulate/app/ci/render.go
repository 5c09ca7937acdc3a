package ci

import (
	"errors"
	"os/exec"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// renderHead runs a shell command in the working directory and returns what it prints. In a hook it sees none of what git says there of the
// repository and the index that it is busy with: helm and kustomize call git in folders of their own.
func renderHead(c *command.Call, base *checkout, shell string) ([]byte, error) {
	program := exec.Command("sh", "-c", shell)
	if base != nil {
		program.Env = base.environ
	}
	return render(c, program)
}

// renderBase runs a shell command in the place of the working directory in the base. There git finds the base.
func renderBase(c *command.Call, base *checkout, shell string) ([]byte, error) {
	program := exec.Command("sh", "-c", shell)
	program.Dir = base.place(".")
	program.Env = append(base.outside[:len(base.outside):len(base.outside)], "PWD="+program.Dir)
	printed, err := render(c, program)
	if failed := (*programError)(nil); errors.As(err, &failed) {
		failed.problems = base.named(failed.problems)
	}
	return printed, err
}

// render returns what the program prints. An error has the last line that it writes to standard error.
func render(c *command.Call, program *exec.Cmd) ([]byte, error) {
	printed, err := capture(c.Context(), program)
	if failed := (*programError)(nil); errors.As(err, &failed) {
		last := strings.TrimSpace(failed.problems)
		failed.problems = last[strings.LastIndex(last, "\n")+1:]
	}
	return printed, err
}
