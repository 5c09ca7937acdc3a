//go:build unix

package ci

import (
	"os"
	"os/exec"
	"syscall"
)

// setApart gives the program a session, and so a group of processes, of its own. Without a terminal it fails where it would ask for a password;
// in a mere group in the background, reading the terminal would stop it for ever.
func setApart(program *exec.Cmd) { program.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killAll kills a program that was set apart, and what it has started.
func killAll(program *os.Process) { _ = syscall.Kill(-program.Pid, syscall.SIGKILL) } // there may be none left
