package manifest

import "testing"

// An endless stream of braces is no JSON, and is not read to the maximum size of JSON.
func TestWhatCanBeginJSON(t *testing.T) {
	for beginning, want := range map[string]bool{
		`{"apiVersion": "v1", "kind": "List", "items": [{"meta`: true,
		"\ufeff {\n":             true,
		`{"a": "half a str`:      true,
		"{\"a\": 1}\n{\"b\": 2}": true,
		"{apiVersion: v1}":       false,
		"{\n{\n{\n":              false,
		"apiVersion: v1\nkind:":  false,
	} {
		if got := mayBeginJSON([]byte(beginning)); got != want {
			t.Errorf("%q: %v, want %v", beginning, got, want)
		}
	}
}
