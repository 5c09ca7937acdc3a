package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/golden"
)

// inputFiles lists the input files of a folder of testdata.
func inputFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if filepath.Ext(file) != ".txt" {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Fatal("no input")
	}
	return found
}

func decodeFile(t *testing.T, file string) (*Set, error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Decode(filepath.Base(file), data)
}

func TestDecodeRefuses(t *testing.T) {
	for _, file := range inputFiles(t, "err") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := decodeFile(t, file)
			if err == nil {
				t.Fatalf("no error; got %d objects", len(set.Objects))
			}
			golden.Compare(t, file+".txt", err.Error()+"\n")
		})
	}
}

func TestDecode(t *testing.T) {
	for _, file := range inputFiles(t, "ok") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := decodeFile(t, file)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, file+".txt", describe(set))
		})
	}
}

// describe lists a set with the line of each object.
func describe(set *Set) string {
	var b strings.Builder
	for _, obj := range set.Objects {
		fmt.Fprintf(&b, "%s (line %d): %s\n", obj.Source, obj.Source.Line, cluster.RefTo(obj.Object).Describe())
	}
	for _, i := range set.Ignored {
		fmt.Fprintf(&b, "%s (line %d): ignored: %s %s %s/%s, %d bytes\n", i.Source, i.Source.Line, i.APIVersion, i.Kind, i.Namespace, i.Name, len(i.JSON))
	}
	for _, c := range set.SchedulerConfigs {
		fmt.Fprintf(&b, "%s (line %d): scheduler: %q\n", c.Source, c.Source.Line, c.Data)
	}
	return b.String()
}
