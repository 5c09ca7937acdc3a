package ci

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// programError is that a program of others failed. It has what the program wrote to standard error.
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

// capture runs a program to its end and returns what it prints. If the context ends first, capture kills the program and everything that the
// program has started, and returns the context's cause at once: a shell that is killed alone leaves its children behind, and they hold the pipe.
func capture(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	var printed, problems bytes.Buffer
	program.Stdout, program.Stderr = &printed, &problems
	setApart(program)
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
		killAll(program.Process)
		return nil, context.Cause(ctx)
	}
}
