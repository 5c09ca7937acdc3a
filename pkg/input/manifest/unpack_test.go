package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// gzipText returns the text, compressed by gzip.
func gzipText(t *testing.T, text string) []byte {
	t.Helper()
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// Files that gzip has compressed are read like others, in one piece or in several, and from standard input. Damaged ones are refused.
func TestUnpack(t *testing.T) {
	list := `{"apiVersion": "v1", "kind": "List", "items": [` + namespaceJSON + `]}`
	whole := gzipText(t, list)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-5] ^= 1 // a byte of the checksum
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"list", whole, ""},
		{"pieces", append(gzipText(t, list[:20]), gzipText(t, list[20:])...), ""},
		{"yaml", gzipText(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"), ""},
		{"cut off", whole[:len(whole)-10], ": is compressed by gzip, and damaged: unexpected EOF; write or copy it anew"},
		{"changed", flipped, ": is compressed by gzip, and damaged: gzip: invalid checksum; write or copy it anew"},
		{"no header", whole[:4], ": is compressed by gzip, and damaged: unexpected EOF; write or copy it anew"},
		{"large", gzipText(t, strings.Repeat("#", maxYAML+1)), ": too large; of one file at most 64 MiB of YAML or 1 GiB of JSON are read, so split it into several"},
	} {
		file := filepath.Join(t.TempDir(), "dump.gz")
		if err := os.WriteFile(file, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func() (*Set, error){
			file:             func() (*Set, error) { return Read(nil, file) },
			"standard input": func() (*Set, error) { return Read(bytes.NewReader(tt.data), Stdin) },
		} {
			set, err := read()
			switch {
			case tt.want != "" && (err == nil || err.Error() != name+tt.want):
				t.Errorf("%s: %v\nwant %s%s", tt.name, err, name, tt.want)
			case tt.want == "" && (err != nil || fmt.Sprint(len(set.Objects)) != "1"):
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// UTF-16, as PowerShell's > writes it, is read like UTF-8: in both byte orders, also compressed, and without a byte order mark if the text
// begins with ASCII.
func TestUTF16(t *testing.T) {
	const text = "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"a\", \"annotations\": {\"x\": \"ü €\U0001f600\"}}}\r\n"
	want, err := Decode("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for _, mark := range []string{"\ufeff", ""} {
			var data []byte
			for _, unit := range utf16.Encode([]rune(mark + text)) {
				data = order.AppendUint16(data, unit)
			}
			for how, read := range map[string]func() (*Set, error){
				"in memory":  func() (*Set, error) { return Decode("f", data) },
				"a pipe":     func() (*Set, error) { return Read(iotest.OneByteReader(bytes.NewReader(data)), Stdin) },
				"compressed": func() (*Set, error) { return Read(bytes.NewReader(gzipText(t, string(data))), Stdin) },
			} {
				got, err := read()
				if err != nil {
					t.Errorf("%s endian, mark %q, %s: %v", name, mark, how, err)
					continue
				}
				if diff := cmp.Diff(want.Objects[0].Object, got.Objects[0].Object); diff != "" {
					t.Errorf("%s endian, mark %q, %s (-want +got):\n%s", name, mark, how, diff)
				}
			}
		}
	}
}
