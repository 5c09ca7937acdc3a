//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used so far on all cores, for itself and in the kernel.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // It fails for wrong arguments alone.
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
