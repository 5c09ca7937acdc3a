package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file may have any number of documents. Text that is neither a document nor a comment is an error with its line, and nothing is left out
// silently.
func TestNothingAfterADocumentVanishes(t *testing.T) {
	const a, b = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}`
	const list = `{"apiVersion": "v1", "kind": "List", "items": [` + a + `]}`
	const flow = `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`
	for _, test := range []struct{ name, text, want string }{
		{"two", list + "\n" + b, "a b"},
		{"two on a line", a + b, "a b"},
		{"an array", "[" + a + ",\n" + b + "]", "a b"},
		{"an array in YAML", "- " + a + "\n- " + b, "a b"},
		{"an empty array", "[]", ""},
		{"an array of Lists", "[" + list + "," + b + "]", "a b"},
		{"comments around", "# first\n\n" + a + "\n" + b + " # b\n# done\n", "a b"},
		{"in YAML", flow + "\n---\n" + b, "a b"},
		{"in YAML, a comment", "# a\n" + flow + " # b\n# c\n", "a"},
		{"garbage", list + "\ngarbage\n", "f: line 2: not valid JSON: invalid character 'g' looking for beginning of value"},
		{"garbage on the line", list + " garbage", "f: line 1: not valid JSON: invalid character 'g' looking for beginning of value"},
		{"a comma", a + "\n,\n" + b, "f: line 2: not valid JSON: invalid character ',' looking for beginning of value"},
		{"a brace too many", a + "}\n" + b, "f: line 1: not valid JSON: invalid character '}' looking for beginning of value"},
		{"cut off", list + "\n" + b[:len(b)-3], "f: line 2: not valid JSON: unexpected EOF"},
		{"cut off in a later line", list + "\n" + "{\n\"apiVersion\":\n", "f: line 4: not valid JSON: unexpected EOF"},
		{"YAML behind it", a + "\napiVersion: v1\nkind: Namespace\n", "f: line 2: not valid JSON: invalid character 'a' looking for beginning of value"},
		{"a directive behind it", a + "\n%garbage\n", "f: line 2: not valid JSON: invalid character '%' looking for beginning of value"},
		{"after a comment", "# a\n" + a + "\ngarbage", "f: line 3: not valid JSON: invalid character 'g' looking for beginning of value"},
		{"garbage after YAML", flow + "\ngarbage\n", "f: line 2: not valid YAML: did not find expected <document start>; begin each document with ---"},
		{"flow after YAML", "\n" + flow + "\n\n" + flow, "f: line 4: not valid YAML: did not find expected <document start>; begin each document with ---"},
		{"less indented", "  apiVersion: v1\n  kind: Namespace\nmetadata: {name: a}\n", "f: line 3: not valid YAML: did not find expected <document start>; begin each document with ---"},
		{"in an array", "[" + a + ", 1]", "f: [1]: a number where an object with apiVersion and kind is wanted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Decode("f", []byte(test.text))
			got := fmt.Sprint(err)
			if err == nil {
				var names []string
				for _, obj := range set.Objects {
					names = append(names, obj.GetName())
				}
				got = strings.Join(names, " ")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// kubectl cluster-info dump prints the logs of containers between the lists.
func TestLogsBetweenObjects(t *testing.T) {
	const a, b = namespaceJSON, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}`
	const start, end = "==== START logs for container c of pod n/p ====\n", "==== END logs for container c of pod n/p ====\n"
	for _, test := range []struct{ name, text, want string }{
		{"objects", a + "\n" + start + "{\n" + end + b, "f: document 1 (line 1): Namespace a\nf: document 2 (line 5): Namespace b\n"},
		{"no text", a + "\n" + start + "\x00\xff\n---\n" + end, "f (line 1): Namespace a\n"},
		{"a last line without an end", a + "\n" + start + "last" + end + b, "f: document 1 (line 1): Namespace a\nf: document 2 (line 4): Namespace b\n"},
		{"a long line", a + "\n" + start + strings.Repeat("x", 200_000) + end + b, "f: document 1 (line 1): Namespace a\nf: document 2 (line 4): Namespace b\n"},
		{"the end on two reads", a + "\n" + start + strings.Repeat("x", 64<<10-10) + end + b, "f: document 1 (line 1): Namespace a\nf: document 2 (line 4): Namespace b\n"},
		{"the logs of another dump", a + "\n" + start + strings.ReplaceAll(start+end, "n/p", "n/q") + end + b, "f: document 1 (line 1): Namespace a\nf: document 2 (line 6): Namespace b\n"},
		{"several", a + "\n" + start + end + start + end + b + "\n", "f: document 1 (line 1): Namespace a\nf: document 2 (line 6): Namespace b\n"},
		{"Windows", a + "\r\n" + strings.ReplaceAll(start+"x\n"+end, "\n", "\r\n"), "f (line 1): Namespace a\n"},
		{"the last line", a + "\nCluster info dumped to standard output\n", "f (line 1): Namespace a\n"},
		{"the last line first", "Cluster info dumped to standard output\n" + a, "f: line 2: not valid YAML: mapping values are not allowed in this context"},
		{"YAML", namespace("a") + start + "a: b: c\n" + end + "---\n" + namespace("b"), "f: document 1 (line 1): Namespace a\nf: document 2 (line 8): Namespace b\n"},
		{"cut off", a + "\n\n" + start + "x\n", `f: line 3: the logs that begin here do not end with "==== END logs for container c of pod n/p ====": the dump is cut off; write or copy it anew`},
		{"another end", a + "\n" + start + strings.ReplaceAll(end, "n/p", "n/q"), `f: line 2: the logs that begin here do not end with "==== END logs for container c of pod n/p ====": the dump is cut off; write or copy it anew`},
		{"no start", a + "\n" + end, "f: line 2: not valid JSON: invalid character '=' looking for beginning of value"},
		{"in a string", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "annotations": {"x": "==== START logs for container c of pod n/p ===="}}}`, "f (line 1): Namespace a\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Decode("f", []byte(test.text))
			got := fmt.Sprint(err)
			if err == nil {
				got = describe(set)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			piped, err := Read(strings.NewReader(test.text), Stdin)
			if again := strings.ReplaceAll(fmt.Sprint(err), "standard input", "f"); err != nil && again != got {
				t.Errorf("through a pipe %s, want %s", again, got)
			} else if err == nil && strings.ReplaceAll(describe(piped), "standard input", "f") != got {
				t.Errorf("through a pipe %s, want %s", describe(piped), got)
			}
		})
	}
}
