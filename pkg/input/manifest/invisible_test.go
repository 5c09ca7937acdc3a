package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// YAML from marked JSON has no invisible characters, and the same text.
func TestEscapeMarked(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                          "plain\n",
		"→ ä":                            "→ ä\n",
		"a\u202eb":                       "\"a\\u202eb\"\n",
		"two\u2028lines\u200b":           "\"two\\u2028lines\\u200b\"\n",
		"a\nb\u202e":                     "\"a\\nb\\u202e\"\n",
		"\x01202e\x02":                   "\"\\u0001202e\\x02\"\n",
		`a\x01202e\x02`:                  `"a\u005cx01202e\\x02"` + "\n",
		`C:\dir \\x01`:                   `"C:\\dir \\\u005cx01"` + "\n",
		"\x01" + `\u202e` + "\x02\u202e": `"\u0001\\u202e\x02\u202e"` + "\n",
	} {
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := yaml.JSONToYAML(MarkInvisible(data))
		if err != nil {
			t.Fatal(err)
		}
		got = EscapeMarked(got)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzEscapeMarked(f *testing.F) {
	for _, seed := range []string{"a\u202e", "\x01\x02", `\x01202e\x02`, "\u0085\ufeff\U000e0001", "- a: b\n\u2029", "\\\\x01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data, err := json.Marshal(map[string]any{"list": []string{text, "x"}})
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil { // Unmarshal replaces bytes that are not UTF-8
			t.Fatal(err)
		}
		written, err := yaml.JSONToYAML(MarkInvisible(data))
		if err != nil {
			t.Fatal(err)
		}
		written = EscapeMarked(written)
		if bytes.ContainsFunc(written, func(r rune) bool { return r <= 0xffff && IsInvisible(r) }) {
			t.Errorf("%q: %q", text, written)
		}
		var got map[string]any
		if err := yaml.Unmarshal(written, &got); err != nil {
			t.Fatalf("%q: %v", written, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", written, diff)
		}
	})
}
