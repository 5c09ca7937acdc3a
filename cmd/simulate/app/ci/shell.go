package ci

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// programError says that another program failed. It holds what the program wrote to standard error.
type programError struct {
	err      error
	problems string
}

func (e *programError) Error() string {
	if problems := strings.Join(strings.Fields(e.problems), " "); problems != "" {
		return fmt.Sprintf("%v: %s", e.err, problems)
	}
	return e.err.Error()
}

func (e *programError) Unwrap() error { return e.err }

// capture runs a program to its end and returns its output. If the context ends first, capture kills the program with every process that it has
// started, and returns the context's cause at once. A shell that is killed alone leaves its children behind, which keep the pipe open.
func capture(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	var printed, problems bytes.Buffer
	program.Stdout, program.Stderr = &printed, &problems
	useOwnSession(program)
	if err := program.Start(); err != nil {
		return nil, &programError{err: err}
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	select {
	case err := <-ended:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &programError{err, problems.String()}
		}
		return printed.Bytes(), nil
	case <-ctx.Done():
		killSession(program.Process)
		return nil, context.Cause(ctx)
	}
}
