//go:build unix

package ci

import (
	"os"
	"os/exec"
	"syscall"
)

// setApart gives the program a session, and so a process group, of its own. A program without a terminal fails where it would ask for a
// password. In a background group of the same session, it would stop for ever when it reads the terminal.
func setApart(program *exec.Cmd) { program.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killAll kills a program that [setApart] has prepared, and every process that it started.
func killAll(program *os.Process) { _ = syscall.Kill(-program.Pid, syscall.SIGKILL) } // all may have ended
