//go:build unix

package ci

import (
	"os"
	"os/exec"
	"syscall"
)

// useOwnSession gives the program a session, and so a process group, of its own. A program without a terminal fails where it would ask for a
// password. In a background group of the same session, it would stop for ever when it reads the terminal.
func useOwnSession(program *exec.Cmd) { program.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killSession kills a program that [useOwnSession] has prepared, and every process that it started.
func killSession(program *os.Process) { _ = syscall.Kill(-program.Pid, syscall.SIGKILL) } // all may have ended
