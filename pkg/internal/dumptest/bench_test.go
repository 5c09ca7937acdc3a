package dumptest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// BenchmarkCommands asks each question of the dump of a cluster in which autoscalers act, groups of nodes are unlike, and budgets block.
func BenchmarkCommands(b *testing.B) {
	dump := filepath.Join(b.TempDir(), "dump.json")
	if err := os.WriteFile(dump, dumptest.Dump(dumptest.Options{Seed: 1, Scaling: true}), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, command := range []string{
		"run", "drain node/ip-10-0-1-1", "verify", "blast", "lint", "advise deployment/svc-05 -n shop",
		"capacity deployment/svc-02 -n shop", "capacity deployment/svc-02 -n shop --survive zone", "capacity", "size", "size --survive zone",
	} {
		b.Run(command, func(b *testing.B) {
			args := append(strings.Fields(command), dump)
			for b.Loop() {
				var errors bytes.Buffer
				if code := app.Main(args, strings.NewReader(""), &bytes.Buffer{}, &errors); code != 0 {
					b.Fatalf("exit status %d\n%s", code, errors.String())
				}
			}
		})
	}
}
