package output

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A report replaces a file as a whole, keeps its mode, and leaves no other file beside it. A file that is not regular stays what it is.
func TestDraft(t *testing.T) {
	dir := t.TempDir()
	mine, fresh, link := filepath.Join(dir, "mine"), filepath.Join(dir, "fresh"), filepath.Join(dir, "link")
	if err := os.WriteFile(mine, []byte("a longer text than the one after it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file, target string
		mode         os.FileMode
	}{{mine, mine, 0o600}, {fresh, fresh, 0o644}, {link, mine, 0o600}} {
		before, _ := os.ReadFile(test.target)
		for _, kept := range []bool{false, true} {
			d := newDraft(test.file)
			if _, err := d.Write([]byte(filepath.Base(test.file))); err != nil {
				t.Fatal(err)
			}
			if now, _ := os.ReadFile(test.target); !bytes.Equal(now, before) {
				t.Errorf("%s: %q before the draft is kept, want %q", test.file, now, before)
			}
			if kept {
				if err := d.replaceFile(); err != nil {
					t.Fatal(err)
				}
			}
			d.discard()
		}
		data, err := os.ReadFile(test.target)
		info, statErr := os.Lstat(test.target)
		if err != nil || statErr != nil || string(data) != filepath.Base(test.file) || info.Mode() != test.mode {
			t.Errorf("%s: %q, %v, %v %v, want mode %v", test.file, data, info.Mode(), err, statErr, test.mode)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%v, %v; want the three files alone", files, err)
	}
	if err := newDraft(filepath.Join(dir, "none", "file")).replaceFile(); !os.IsNotExist(err) {
		t.Errorf("in a missing folder: %v", err)
	}
}
