// Package golden compares the output of a test with a file, which -update writes.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update says whether the test was run with -update, which writes golden files instead of comparing them.
var update = flag.Bool("update", false, "write the golden files and the generated ones anew")

// Compare compares the text with a file, or writes the file with -update.
func Compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write it with -update if it should change:\n%s", file, diff)
	}
}
