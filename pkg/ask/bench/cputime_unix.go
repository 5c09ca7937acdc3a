//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used so far on all cores, user and system.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // fails only for wrong arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
