package whatif

import (
	"os"
	"path/filepath"
	"testing"
)

// A killed process has left half a point; the next process that writes the point removes it, and nothing else.
func TestPutSweepsUp(t *testing.T) {
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".abc-123", ".abd-123"} {
		if err := os.WriteFile(filepath.Join(store.dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Put("abc", &Found{}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(store.dir, ".*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".abd-123" {
		t.Errorf("left are %v, %v", left, err)
	}
	if found, err := store.Get("abc"); found == nil || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

// FuzzGet looks for entries of a store that make the reader panic, or that pass for a point without being one.
func FuzzGet(f *testing.F) {
	f.Add([]byte(`{"Key":"abc","Found":{}}` + "\n"))
	f.Add([]byte(`{"Key":"abc"}` + "\n"))
	f.Add([]byte(`{"Key":"abc","Found":{"levels":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store, err := OpenStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(store.pathOf("abc"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := store.Get("abc"); found != nil && err != nil {
			t.Errorf("found %v with the error %v", found, err)
		}
	})
}
