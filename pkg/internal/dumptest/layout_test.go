package dumptest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// In every layout of a cluster, the answers are those for the list of the same objects that kubectl get prints.
func TestLayouts(t *testing.T) {
	want := map[string]any{}
	for _, layout := range dumptest.Layouts() {
		t.Run(layout.Name, func(t *testing.T) {
			dump := dumptest.SortItems(dumptest.Dump(dumptest.Options{Seed: 3, Nodes: 24, Kinds: layout.Kinds}))
			dir := t.TempDir()
			path := writeLayout(t, dir, layout.Write(dump))
			for _, question := range [][]string{{"run"}, {"blast", "--worst", "3"}} {
				of := fmt.Sprint(question, layout.Kinds)
				if want[of] == nil {
					want[of] = bare(answeredOf(t, writeLayout(t, t.TempDir(), map[string][]byte{"dump.json": dump}), question))
				}
				if diff := cmp.Diff(want[of], bare(answeredOf(t, path, question))); diff != "" {
					t.Errorf("simulate %s (-plain list +%s):\n%.4000s", strings.Join(question, " "), layout.Name, diff)
				}
			}
		})
	}
}

// writeLayout writes the files, and returns the path to give to the command: of the only file, or of the folder.
func writeLayout(t *testing.T, dir string, files map[string][]byte) string {
	t.Helper()
	path := dir
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(files) == 1 {
			path = file
		}
	}
	return path
}

func answeredOf(t *testing.T, path string, question []string) any {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := app.Main(append(slices.Clone(question), "--cluster", path, "-o", "json"), nil, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	return decoded(t, out.Bytes())
}

// notesOnFiles are the beginnings of notes on the way in which the files are written.
var notesOnFiles = []string{"left out, without any Kubernetes object: ", "not looked into, since packed "}

// bare returns a report without the names of its files, the kinds that are ignored, and the notes on files.
func bare(report any) any {
	switch v := report.(type) {
	case []any:
		v = slices.DeleteFunc(v, func(note any) bool {
			text, is := note.(string)
			return is && slices.ContainsFunc(notesOnFiles, func(note string) bool { return strings.HasPrefix(text, note) })
		})
		for i := range v {
			v[i] = bare(v[i])
		}
		return v
	case map[string]any:
		delete(v, "files")
		delete(v, "ignored")
		delete(v, "source")
		for key := range v {
			v[key] = bare(v[key])
		}
	}
	return report
}
