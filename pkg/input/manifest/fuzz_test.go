package manifest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/cluster"
)

// FuzzDecode searches for input that makes the decoder panic, or that gives another object when it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, folder := range []string{"ok", "err"} {
		entries, err := os.ReadDir("testdata/" + folder)
		if err != nil {
			f.Fatal(err)
		}
		for _, entry := range entries {
			data, err := os.ReadFile("testdata/" + folder + "/" + entry.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(dumpedPod))
	const logs = "==== START logs for container c of pod n/p ====\n{\n==== END logs for container c of pod n/p ====\n"
	for _, seed := range []string{namespaceJSON + namespaceJSON, namespaceJSON + "\n" + logs + namespaceJSON, "[" + namespaceJSON + "]", namespaceJSON + "garbage",
		"\xff\xfe{\x00}\x00", "{\x00}\x00", "{a: b}\n# c\n", `{"kind": "List", "apiVersion": "v1", "items": [` + namespaceJSON + "]}" + logs} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Decode("fuzz", data)
		again, errAgain := Decode("fuzz", data)
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("first %v, then %v", err, errAgain)
		}
		if diff := cmp.Diff(set, again, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("two decodings differ:\n%s", diff)
		}
		var whole collection
		text, errText := plainText(data)
		if errText == nil && (whole.addFile(whole.decodeWhole("fuzz", text), false) > 0 || len(whole.errs) > 0) {
			asWhole, errWhole := whole.result()
			if diff := cmp.Diff(asWhole, set, cmpopts.EquateNaNs()); diff != "" || fmt.Sprint(errWhole) != fmt.Sprint(err) {
				t.Fatalf("read as a whole: %v, otherwise %v\n%s", errWhole, err, diff)
			}
		}
		if set == nil {
			return
		}
		for _, obj := range set.Objects {
			if obj.GetName() == "" || obj.GetUID() == "" || !cluster.Supports(obj.Object) {
				t.Errorf("%s: %T without a name or UID", obj.Source, obj.Object)
			}
		}
	})
}

// FuzzSnapshot checks that the objects from any input can be written as a snapshot, and read again.
func FuzzSnapshot(f *testing.F) {
	data, err := os.ReadFile("testdata/ok/snapshot.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(snapshotState))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Decode("fuzz", data)
		if err != nil {
			return
		}
		state := &cluster.State{}
		for _, obj := range set.Objects {
			state = state.With(obj.Object)
		}
		var first, second bytes.Buffer
		if err := WriteSnapshot(&first, state, nil); err != nil {
			t.Fatal(err)
		}
		again, err := Decode("fuzz", first.Bytes())
		if err != nil {
			t.Fatalf("the snapshot cannot be read: %v\n%s", err, first.Bytes())
		}
		restored := &cluster.State{}
		for _, obj := range again.Objects {
			restored = restored.With(obj.Object)
		}
		if err := WriteSnapshot(&second, restored, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.String(), second.String()); diff != "" {
			t.Errorf("the snapshot of a snapshot differs (-first +second):\n%s", diff)
		}
	})
}

// FuzzRead searches for files that give other objects through a pipe than from memory, or in a folder than by name, and for archives that
// make the reader panic.
func FuzzRead(f *testing.F) {
	const logs = "==== START logs for container c of pod n/p ====\nx\n==== END logs for container c of pod n/p ====\n"
	for _, seed := range []string{namespaceJSON, namespaceJSON + "\n" + logs, "\xfe\xff\x00{\x00}", `["a"]`, "a: b: c", "\x1f\x8b\x08\x00\x00\x00\x00\x00"} {
		f.Add([]byte(seed))
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a.json", Size: int64(len(namespaceJSON))}) // writes to memory cannot fail
	_, _ = w.Write([]byte(namespaceJSON))
	_ = w.Close()
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		piped, errPiped := Read(iotest.HalfReader(bytes.NewReader(data)), Stdin)
		tree := fstest.MapFS{"f/x.json": {Data: data}}
		named, errNamed := ReadFS(tree, nil, "f/x.json")
		if (errPiped == nil) != (errNamed == nil) {
			t.Fatalf("through a pipe %v, by name %v", errPiped, errNamed)
		}
		if errNamed == nil && len(piped.Objects) != len(named.Objects) {
			t.Fatalf("%d objects through a pipe, %d by name", len(piped.Objects), len(named.Objects))
		}
		inFolder, err := ReadFS(tree, nil, "f")
		if errNamed == nil && (err != nil || len(inFolder.Objects) != len(named.Objects)) {
			t.Fatalf("by name %v, in a folder %v", named, err)
		}
	})
}
