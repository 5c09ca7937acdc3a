package manifest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tarArchive returns a tar archive of files, each a name and its text. A name that ends in > is a link to the text.
func tarArchive(t *testing.T, files ...[2]string) string {
	t.Helper()
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, file := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file[0], Mode: 0o600, Size: int64(len(file[1]))}
		if name, is := strings.CutSuffix(file[0], ">"); is {
			header = &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: file[1]}
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := w.Write([]byte(file[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return data.String()
}

// An archive gives the same objects as a folder with the same files, sorted by name.
func TestArchive(t *testing.T) {
	const list = `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}]}`
	packed := tarArchive(t,
		[2]string{"./top/z.yaml", namespace("z")}, [2]string{"top/b.json.gz", string(gzipText(t, list))}, [2]string{"top/errors.json", `["timeout"]`},
		[2]string{"top/.hidden/a.yaml", "not: read"}, [2]string{"top/a.txt", "not read"}, [2]string{"top/a.json>", "/etc/passwd"})
	want := "dump/top/b.json.gz: items[0] (line 1): Namespace b\ndump/top/z.yaml (line 1): Namespace z\n"
	writeFiles(t, map[string]string{"dump": packed, "dump.gz": string(gzipText(t, packed))})
	for file, label := range map[string]string{"dump": "dump", "dump.gz": "dump.gz", Stdin: "-"} {
		set, err := Read(bytes.NewReader(gzipText(t, packed)), file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(describe(set), label+"/", "dump/")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		skipped := fmt.Sprint(set.Strict())
		for _, want := range []string{label + "/top/a.json: is a link, which is not followed", label + "/top/errors.json: [0]: a string where an object with apiVersion and kind is wanted"} {
			if !strings.Contains(skipped, want) {
				t.Errorf("%s: strict is %s; want %s", file, skipped, want)
			}
		}
	}
}

func TestArchiveRefuses(t *testing.T) {
	whole := tarArchive(t, [2]string{"a.yaml", namespace("a")}, [2]string{"b.yaml", namespace("b")})
	for _, test := range []struct{ name, data, want string }{
		{"cut off", whole[:530], "dump.tar: is a tar archive, and damaged: unexpected EOF; write or copy it anew"},
		{"cut off between files", whole[:1024], "dump.tar: is a tar archive, and damaged: unexpected EOF; write or copy it anew"},
		{"cut off in a header", whole[:1100], "dump.tar: is a tar archive, and damaged: unexpected EOF; write or copy it anew"},
		{"compression cut off", string(gzipText(t, whole)[:100]), "dump.tar: is a tar archive, and damaged: unexpected EOF; write or copy it anew"},
		{"up", tarArchive(t, [2]string{"a/../../b.yaml", namespace("b")}), `dump.tar: "a/../../b.yaml" is a file outside of the archive; pack it anew, with paths below one folder`},
		{"root", tarArchive(t, [2]string{"/b.yaml", namespace("b")}), `dump.tar: "/b.yaml" is a file outside of the archive; pack it anew, with paths below one folder`},
		{"deep", tarArchive(t, [2]string{strings.Repeat("a/", maxFolders+1) + "b.yaml", namespace("b")}), "dump.tar: more than 50 folders inside each other; unpack the archive, and give the folders with objects"},
		{"nothing", tarArchive(t, [2]string{"a.txt", "x"}), "dump.tar: no Kubernetes object in it; give a file that has at least one"},
		{"two archives in it", tarArchive(t, [2]string{"a.json", whole}, [2]string{"b.tgz", whole}), "dump.tar: no Kubernetes object in it, but dump.tar/a.json, which is packed; unpack it, or name it by itself"},
		{"too many archives around it", wrap(t, string(gzipText(t, whole)), maxWrappers+1), "dump.tar: no Kubernetes object in it, but dump.tar/in.tgz/in.tgz/in.tgz/in.tgz, which is packed; unpack it, or name it by itself"},
		{"a damaged archive in it", tarArchive(t, [2]string{"in.tgz", string(gzipText(t, whole)[:100])}), "dump.tar/in.tgz: is a tar archive, and damaged: unexpected EOF; write or copy it anew"},
		{"no archive in it", tarArchive(t, [2]string{"in.tgz", "x"}), "dump.tar/in.tgz: is no archive, although its name says so; leave it out, or write it anew"},
		{"an invalid file", tarArchive(t, [2]string{"x/a.json", `{"kind": "Pod"`}), "dump.tar/x/a.json: line 1: not valid JSON: unexpected EOF"},
		{"a large object", tarArchive(t, [2]string{"x/a.json.gz", string(gzipText(t, `{"a": "`+strings.Repeat("x", maxObject)+`x"}`))}), "dump.tar/x/a.json.gz: " + errObjectTooLarge.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeFiles(t, map[string]string{"dump.tar": test.data})
			if _, err := Read(nil, "dump.tar"); fmt.Sprint(err) != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	if _, err := ReadFile(os.DirFS("."), nil, "dump.tar"); err == nil {
		t.Error("an archive was read as one file")
	}
}

// wrap packs an archive several times into another.
func wrap(t *testing.T, archive string, times int) string {
	t.Helper()
	for i := range times {
		archive = tarArchive(t, [2]string{"README.txt", "see the archive"}, [2]string{"in.tgz", archive})
		if i+1 < times {
			archive = string(gzipText(t, archive))
		}
	}
	return archive
}

// An archive with nothing but another archive stands for that one, also in a folder.
func TestWrapped(t *testing.T) {
	whole := string(gzipText(t, tarArchive(t, [2]string{"top/b.yaml", namespace("b")}, [2]string{"top/old.tar.gz", string(gzipText(t, tarArchive(t)))})))
	once, often := wrap(t, whole, 1), wrap(t, whole, maxWrappers)
	writeFiles(t, map[string]string{"once.tar": once, "often.tar": often, "dir/dump.tgz": string(gzipText(t, once)), "mixed/dump.tgz": whole, "mixed/errors.json": "{}"})
	for path, want := range map[string]string{
		"once.tar": "once.tar/in.tgz/top/b.yaml", "often.tar": "often.tar/in.tgz/in.tgz/in.tgz/top/b.yaml",
		"dir": "dir/dump.tgz/in.tgz/top/b.yaml", "mixed": "mixed/dump.tgz/top/b.yaml",
	} {
		set, err := Read(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		var packed []string
		for _, skipped := range set.Skipped {
			if skipped.Packed {
				packed = append(packed, skipped.File)
			}
		}
		folder, _, _ := strings.Cut(want, "/b.yaml")
		if diff := cmp.Diff(want+" (line 1): Namespace b\n", describe(set)) + cmp.Diff([]string{folder + "/old.tar.gz"}, packed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if _, err := Read(strings.NewReader(once), Stdin); fmt.Sprint(err) != "standard input: no Kubernetes object in it, but -/in.tgz, which is packed; unpack it, or name it by itself" {
		t.Errorf("standard input: %v", err)
	}
}

// What is packed inside of a folder or an archive, beside objects, is not read, and not forgotten.
func TestPacked(t *testing.T) {
	whole := tarArchive(t, [2]string{"b.yaml", namespace("b")})
	inner := tarArchive(t, [2]string{"a.yaml", namespace("a")}, [2]string{"b.tgz", whole}, [2]string{"c.json", string(gzipText(t, whole))}, [2]string{"d.json.xz", "x"}, [2]string{".e.tar", whole})
	writeFiles(t, map[string]string{
		"dir/a.yaml": namespace("a"), "dir/b.tar.gz": string(gzipText(t, whole)), "dir/sub/C.ZIP": "PK", "dir/d.log.gz": "x", "dir/.e.tar": whole,
		"two/b.tar": whole, "two/c.tar": whole, "log/d.log": "x", "inner.tar": inner,
	})
	for path, want := range map[string][]string{
		"dir":       {"dir/b.tar.gz", "dir/sub/C.ZIP"},
		"inner.tar": {"inner.tar/b.tgz", "inner.tar/c.json", "inner.tar/d.json.xz"},
	} {
		set, err := Read(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, skipped := range set.Skipped {
			if skipped.Packed && strings.Contains(fmt.Sprint(set.Strict()), skipped.File+": is packed inside of a folder or an archive, which is not read; unpack it, or name it by itself") {
				got = append(got, skipped.File)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(set.Objects) != 1 {
			t.Errorf("%s: %d objects; packed (-want +got):\n%s", path, len(set.Objects), diff)
		}
	}
	for path, want := range map[string]string{
		"two": "two: no .yaml, .yml, .json file in this folder that can be read; two/b.tar: is packed inside of a folder or an archive, which is not read; unpack it, or name it by itself",
		"log": "log: no .yaml, .yml, .json file in this folder",
	} {
		if _, err := Read(nil, path); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// A file that begins like an object, but whose name is not read, is not forgotten.
func TestMisnamed(t *testing.T) {
	const list = "{\n \"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": []}"
	files := map[string]string{
		"a.yaml": namespace("a"), "pods": "# of prod\n---\n" + namespace("b"), "nodes.txt": list, "sub/c.yaml.bak": "\ufeff" + namespace("c"),
		"d.log": "time=1 apiVersion: v1", "e.log": `{"level": "info"}`, "README.md": "Kinds:\n\n  kind: Pod", ".f": namespace("f"), "empty": "", "only/nodes.txt": list,
	}
	var members [][2]string
	in := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		in["dir/"+name] = files[name]
		members = append(members, [2]string{name, files[name]})
	}
	in["dir.tar"] = tarArchive(t, members...)
	writeFiles(t, in)
	for _, path := range []string{"dir", "dir.tar"} {
		set, err := Read(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{path + "/nodes.txt", path + "/only/nodes.txt", path + "/pods", path + "/sub/c.yaml.bak"}
		var got []string
		for _, skipped := range set.Skipped {
			if skipped.Misnamed && strings.Contains(fmt.Sprint(set.Strict()), skipped.File+": begins like a Kubernetes object, but its name does not end in .yaml, .yml or .json") {
				got = append(got, skipped.File)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(set.Objects) != 1 {
			t.Errorf("%s: %d objects; misnamed (-want +got):\n%s", path, len(set.Objects), diff)
		}
	}
	const want = "dir/only: no .yaml, .yml, .json file in this folder that can be read; dir/only/nodes.txt: begins like a Kubernetes object, but its name does not end in .yaml, .yml or .json, so it is not read; rename it, or name it by itself"
	if _, err := Read(nil, "dir/only"); fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A link to nothing, as a bundle that was copied without what it names has, does not keep the rest of a folder from being read.
func TestLinkToNothing(t *testing.T) {
	writeFiles(t, map[string]string{"dir/a.yaml": namespace("a"), "lone/a.txt": "x"})
	for _, dir := range []string{"dir", "lone"} {
		if err := os.Symlink("nowhere.json", dir+"/gone.json"); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Read(nil, "dir")
	if err != nil {
		t.Fatal(err)
	}
	want := []Skipped{{File: "dir/gone.json", Problem: "dir/gone.json: is a link to a file that is not there; copy the file, or remove the link"}}
	if diff := cmp.Diff(want, set.Skipped); diff != "" || len(set.Objects) != 1 {
		t.Errorf("%d objects; skipped (-want +got):\n%s", len(set.Objects), diff)
	}
	const lone = "lone: no .yaml, .yml, .json file in this folder that can be read; lone/gone.json: is a link to a file that is not there; copy the file, or remove the link"
	if _, err := Read(nil, "lone"); fmt.Sprint(err) != lone {
		t.Errorf("error %v, want %s", err, lone)
	}
}
