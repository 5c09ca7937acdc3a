package manifest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// writeFiles writes files into an empty folder and makes it the working folder.
func writeFiles(t *testing.T, contents map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range contents {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func namespace(name string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"
}

func TestRead(t *testing.T) {
	writeFiles(t, map[string]string{
		"z.yaml":              namespace("from-z"),
		"dir/b.yml":           namespace("from-b"),
		"dir/a/c.JSON":        `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "from-c"}}`,
		"dir/empty.yaml":      "# nothing\n",
		"dir/notes.txt":       "not a manifest",
		"dir/.hidden.yaml":    "not: a manifest",
		"dir/.git/config.yml": "not: a manifest",
	})
	set, err := Read(strings.NewReader(namespace("from-stdin")), "z.yaml", "-", "dir", "d?r/*.yml", "./z.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := "z.yaml (line 1): Namespace from-z\nstandard input (line 1): Namespace from-stdin\n" +
		"dir/a/c.JSON (line 1): Namespace from-c\ndir/b.yml (line 1): Namespace from-b\n"
	if diff := cmp.Diff(want, describe(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	writeFiles(t, map[string]string{
		"a.yaml":          namespace("a"),
		"again.yaml":      namespace("a") + "spec: {finalizers: [x.io/y]}\n",
		"empty.yaml":      "",
		"bad.yaml":        "a: b: c\n",
		"notes/notes.txt": "not a manifest",
		"empties/x.yaml":  "---\n",
	})
	for _, test := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"no path", nil, "no file is given; name files, folders, patterns, or - for the standard input"},
		{"missing", []string{"none.yaml"}, "none.yaml: no such file or directory; give a file, a folder, a pattern, or - for the standard input"},
		{"no match", []string{"*.json"}, "*.json: no file matches this pattern"},
		{"bad pattern", []string{"["}, "[: not a valid pattern: syntax error in pattern"},
		{"no manifest", []string{"notes"}, "notes: no .yaml, .yml, .json file in this folder"},
		{"empty file", []string{"a.yaml", "empty.yaml"}, "empty.yaml: no Kubernetes object in it; give a file that has at least one"},
		{"empty folder", []string{"empties"}, "empties: no Kubernetes object in it; give a file that has at least one"},
		{"empty stdin", []string{"-"}, "standard input: no Kubernetes object in it; give a file that has at least one"},
		{"two files", []string{"a.yaml", "again.yaml"}, "again.yaml: Namespace a: already defined in a.yaml; remove or rename one of them"},
		{"all at once", []string{"bad.yaml", "none.yaml"}, "bad.yaml: line 1: not valid YAML: mapping values are not allowed in this context\n" +
			"none.yaml: no such file or directory; give a file, a folder, a pattern, or - for the standard input"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(""), test.paths...)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The files are sparse, and only their beginnings are read; reading all of them would take seconds.
func TestLargeFilesAreNotRead(t *testing.T) {
	const tooLarge = ": too large; of one file at most 64 MiB of YAML or 1 GiB of JSON are read, so split it into several"
	for _, test := range []struct {
		file, beginning string
		size            int64
		want            string
	}{
		{"large.yaml", "", maxYAML + 1, tooLarge},
		{"large.json", " {", maxJSON + 1, tooLarge},
		{"dump.json", "\ufeff\n{", maxYAML + 1, ": byte 6 is 0, so this is no text; give YAML or JSON in UTF-8"},
	} {
		t.Run(test.file, func(t *testing.T) {
			writeFiles(t, map[string]string{test.file: test.beginning})
			if err := os.Truncate(test.file, test.size); err != nil {
				t.Fatal(err)
			}
			_, err := Read(nil, test.file)
			if err == nil || err.Error() != test.file+test.want {
				t.Errorf("got  %v\nwant %s%s", err, test.file, test.want)
			}
		})
	}
}

// A pipe can be read only once, and gives the same objects as a file with the same text.
func TestPipe(t *testing.T) {
	list := `{"apiVersion": "v1", "items": [` + strings.Repeat(`{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}},`, 200) +
		`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}], "kind": "List"}`
	for name, text := range map[string]string{
		"List":          list,
		"List, cut off": list[:len(list)-9],
		"two Lists":     list + "\n" + strings.Replace(list, `"a"`, `"b"`, 1),
		"wrong kind":    strings.Replace(list, `"kind": "List"`, `"kind": "NodeList"`, 1),
		"YAML":          namespace("a") + "---\n" + strings.Repeat("# a comment\n", 1000) + namespace("b"),
		"YAML in JSON":  "{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
		"nothing":       "",
		"blank":         "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := Decode(Stdin, []byte(text))
			for _, pipe := range []io.Reader{iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
				got, err := Read(pipe, Stdin)
				if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("error %v; want %v\n(-want +got):\n%s", err, wantErr, diff)
				}
			}
		})
	}
	if _, err := Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(list))), Stdin); fmt.Sprint(err) != "standard input: timeout" {
		t.Errorf("a pipe of which the second read fails: %v", err)
	}
}

func TestLargeStandardInput(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Repeat("#", maxYAML+1)), "-")
	want := "standard input: too large; of one file at most 64 MiB of YAML or 1 GiB of JSON are read, so split it into several"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
