package manifest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// writeGzipBomb writes a gzip file with a beginning, a filling that is repeated many times, and an end.
func writeGzipBomb(t *testing.T, file, beginning, filling string, times int, end string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{beginning, strings.Repeat(filling, times), end} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A small file that unpacks to a large one is refused before much of it is in memory, wherever the large part is.
func TestCompressedBombs(t *testing.T) {
	const list = `{"kind":"List","apiVersion":"v1","items":[`
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"`
	const tooLarge = "too large; of one object at most 16 MiB are read, and an API server takes at most 3 MiB, so leave it out"
	for _, test := range []struct{ name, beginning, filling, end, want string }{
		{"white space", list, " ", "]}", "b.json.gz: " + tooLarge},
		{"annotation in a List", list + pod, "x", `"}}}]}`, "b.json.gz: " + tooLarge},
		{"annotation of quotes", list + pod, `\"`, `"}}}]}`, "b.json.gz: " + tooLarge},
		{"annotation in an object", pod, "x", `"}}}`, "b.json.gz: " + tooLarge},
		{"annotation in a second object", namespaceJSON + pod, "x", `"}}}`, "b.json.gz: " + tooLarge},
		{"annotation in an array", "[" + pod, "x", `"}}}]`, "b.json.gz: " + tooLarge},
		{"annotation in a snapshot", `{"pods":[` + pod, "x", `"}}}]}`, "b.json.gz: " + tooLarge},
		{"an object of small parts", list + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{}`, ",{}", "]}}]}", "b.json.gz: " + tooLarge},
		{"an object of short strings", list + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{}`, `,"a"`, "]}}]}", "b.json.gz: items[0]: " + tooLarge},
		{"a second List of one object", namespaceJSON + list + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{}`, `,"a"`, "]}}]}", "b.json.gz: document 2: items[0]: " + tooLarge},
		{"a cut off string", list + pod, "x", "", "b.json.gz: " + tooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeGzipBomb(t, "b.json.gz", test.beginning, test.filling, (64<<20)/len(test.filling), test.end)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(nil, "b.json.gz")
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("got  %.300s\nwant %s", got, test.want)
			}
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 400 {
				t.Errorf("%d MiB were allocated before it was refused", used)
			}
		})
	}
}

// The guard finds the strings of a text by their quotes, without escaped ones, however the text is split into reads.
func TestGuardFindsStrings(t *testing.T) {
	long := strings.Repeat("x", maxObject)
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"strings", `{"a": "` + long + `", "b": "` + long + `"}`, nil},
		{"a long string", `{"a": "` + long + `x"}`, errObjectTooLarge},
		{"an escaped quote", `{"a": "` + long[1:] + `\""}`, errObjectTooLarge},
		{"an escaped backslash", `{"a": "` + long[2:] + `\\", "b": "` + long + `"}`, nil},
		{"white space", `{"a":` + strings.Repeat(" ", maxObject) + `"b"}`, errObjectTooLarge},
		{"YAML", "a: " + long + long, nil},
		{"no text", "{\x00", notTextError{2}},
		{"a byte order mark", "\ufeff\n[\"" + long + `x"]`, errObjectTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			readers := map[string]io.Reader{"at once": bytes.NewReader([]byte(test.text)), "in halves": iotest.HalfReader(strings.NewReader(test.text))}
			if len(test.text) < 100 {
				readers["byte by byte"] = iotest.OneByteReader(strings.NewReader(test.text))
			}
			for how, in := range readers {
				if n, err := io.Copy(io.Discard, &guard{in: in}); !errors.Is(err, test.want) || err == nil && n != int64(len(test.text)) {
					t.Errorf("%s: %d bytes of %d, error %v; want %v", how, n, len(test.text), err, test.want)
				}
			}
		})
	}
	text := `{"a": "\\\"\\", "b": "\"", "c": ["` + long + `x"]}`
	g := &guard{in: iotest.OneByteReader(strings.NewReader(text[:40]))}
	if _, err := io.Copy(io.Discard, g); err != nil || !g.inString {
		t.Errorf("error %v, in a string: %t", err, g.inString)
	}
}
