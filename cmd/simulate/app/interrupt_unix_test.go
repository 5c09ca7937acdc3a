//go:build unix

package app

import (
	"bytes"
	"io"
	"syscall"
	"testing"
)

// stuck is an input that never ends. Whoever reads it sends the process a signal.
type stuck struct{ signal syscall.Signal }

func (s stuck) Read([]byte) (int, error) {
	if err := syscall.Kill(syscall.Getpid(), s.signal); err != nil {
		return 0, err
	}
	select {}
}

func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		var errOut bytes.Buffer
		if got := Main([]string{"run", "-f", "-"}, stuck{signal}, io.Discard, &errOut); got != want || errOut.String() != "simulate: interrupted\n" {
			t.Errorf("%s: exit status %d, want %d; standard error %q", signal, got, want, errOut.String())
		}
	}
}
