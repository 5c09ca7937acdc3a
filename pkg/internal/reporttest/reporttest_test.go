package reporttest

import (
	"path/filepath"
	"testing"
)

// fatal is a test whose Fatalf panics.
type fatal struct{ testing.TB }

func (fatal) Fatalf(string, ...any) { panic("fatal") }

// The folder docs is found above a package, and missed at once where there is none.
func TestDocsFolder(t *testing.T) {
	if docs := docsFolder(t); filepath.Base(docs) != "docs" {
		t.Errorf("docs is %s", docs)
	}
	t.Chdir(t.TempDir())
	defer func() {
		if recover() == nil {
			t.Error("a folder without docs above it must fail the test")
		}
	}()
	docsFolder(fatal{t})
}
