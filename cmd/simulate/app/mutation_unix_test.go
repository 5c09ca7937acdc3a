//go:build unix

package app

import (
	"os"
	"syscall"
	"testing"
)

// pipes creates a folder with pipes that nobody writes to.
func pipes(t *testing.T) {
	t.Helper()
	if err := os.Mkdir("pipes", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipes/scenario.yaml", "pipes/web.yaml"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
