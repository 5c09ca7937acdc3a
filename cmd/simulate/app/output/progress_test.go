package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// The bar counts the bytes that are read of a file, and the finished parts of any other work. Without a terminal there is no bar.
func TestProgress(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	before := startTime
	startTime = time.Now().Add(-time.Hour)
	t.Cleanup(func() { startTime = before })
	file := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(file, bytes.Repeat([]byte(" "), 2_500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		bar := NewProgress(&out)
		bar.shown = terminal
		if _, err := manifest.ReadFile(ProgressFS{bar}, nil, file); err != nil {
			t.Fatal(err)
		}
		bar.update("failures", "loss of b after zone-a-fails", 3, 12)
		bar.update("failures", "loss of b after "+strings.Repeat("very ", 20)+"long", 3, 13)
		bar.Done()
		bar.update("failures", "too late", 1, 2)
		for _, want := range []string{"reading dump.json", "/3, ", "loss of b after zone-a-fails", "(3/12, ", "loss of b after very very ver…"} {
			if strings.Contains(out.String(), want) != terminal {
				t.Errorf("terminal %t: %q in %q", terminal, want, out.String())
			}
		}
		if strings.Contains(out.String(), "too late") {
			t.Errorf("something is drawn after the end: %q", out.String())
		}
	}
}
