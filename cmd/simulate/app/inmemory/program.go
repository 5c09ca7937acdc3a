package inmemory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// ProgramName is the program that has the API server.
const ProgramName = "simulate-cluster"

// stopTime is how long the program may take to end.
const stopTime = 5 * time.Second

// StartProgram runs the program that has the API server, with the arguments of this one.
func StartProgram(c *command.Call, _ Options) error {
	program, err := findProgram()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	if err = exit.OfProgram(cmd.Run()); errors.As(err, new(exit.CodeError)) {
		return err
	}
	if context.Cause(c.Context()) != nil { // interrupted, which is how a cluster ends
		return nil
	}
	return err
}

// findProgram returns the path of the program: beside this one, or in PATH.
func findProgram() (string, error) {
	name := ProgramName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("there is no program %s beside simulate or in PATH: build it with make cluster", ProgramName)
	}
	return found, nil
}
