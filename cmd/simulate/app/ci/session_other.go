//go:build !unix

package ci

import (
	"os"
	"os/exec"
)

// setApart does nothing: there are no groups of processes.
func setApart(*exec.Cmd) {}

// killAll kills the program alone.
func killAll(program *os.Process) { _ = program.Kill() } // the program may have ended
