package expect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/loader"
)

func TestGolden(t *testing.T) {
	scale := func(name, replicas string) string {
		return zonedCluster + "steps: [{name: " + name + ", scale: {target: deploy/web, replicas: " + replicas + "}}]\n"
	}
	file := GoldenFile(filepath.Join(t.TempDir(), loader.FileName))
	if none, err := ReadGolden(file); none != nil || err != nil {
		t.Fatalf("%v, %v where there is no file", none, err)
	}
	before := NewGolden(run(t, scale("one", "1")))
	if err := before.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadGolden(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read); diff != "" {
		t.Errorf("what is read is not what was written (-want +got):\n%s", diff)
	}
	for text, want := range map[string][]string{
		scale("one", "1"):  {"the same", "the same"},
		scale("one", "5"):  {"the same", "1 Pending (was 0); deployment/web: a-w-1 2 (was 0), b-w-1 2 (was 1)"},
		scale("once", "1"): {"the same", `the file has no such step; the file has a step "one", and the scenario has none`},
	} {
		result := run(t, text)
		var got []string
		for _, e := range read.Judge(result, file) {
			if e.Met != (e.Got == "the same") || e.Want != "placements as in placements.golden.yaml" {
				t.Errorf("%+v", e)
			}
			got = append(got, e.Got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if err := os.WriteFile(file, []byte("steps: [{nome: x}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadGolden(file); err == nil || !strings.HasSuffix(err.Error(), `unknown field "steps[0].nome"; did you mean "name"? (simulate test --update writes it anew)`) {
		t.Errorf("%v", err)
	}
	if got := GoldenFile("a/zones.yaml"); got != "a/zones.placements.golden.yaml" {
		t.Error(got)
	}
}
