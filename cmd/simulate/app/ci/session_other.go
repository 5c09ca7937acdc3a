//go:build !unix

package ci

import (
	"os"
	"os/exec"
)

// useOwnSession does nothing: there are no sessions.
func useOwnSession(*exec.Cmd) {}

// killSession kills the program alone.
func killSession(program *os.Process) { _ = program.Kill() } // the program may have ended
