package dumptest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/anonymous"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/scenarios"
)

// message matches the message of a condition, which is left out.
var message = regexp.MustCompile(`,"message":"([^"\\]|\\.)*"`)

// TestAnonymousAnswers asks the same questions about dumps and the objects of scenarios, with their names and without. The answers must be
// the same except for names.
func TestAnonymousAnswers(t *testing.T) {
	for name, objects := range anonymousWorlds(t) {
		t.Run(name, func(t *testing.T) {
			dump, err := anonymous.NewDump(context.Background(), objects)
			if err != nil {
				t.Fatal(err)
			}
			named := &anonymous.Dump{}
			for _, obj := range objects {
				data, err := manifest.Encode(obj)
				if err != nil {
					t.Fatal(err)
				}
				named.Objects = append(named.Objects, message.ReplaceAll(data, nil))
			}
			before, after := writeDump(t, named), writeDump(t, dump)
			m := mapping{}
			for i := range named.Objects {
				m.learn(decoded(t, named.Objects[i]), decoded(t, dump.Objects[i]))
			}
			known := map[string]bool{}
			for _, old := range m {
				known[old] = true
			}
			same := func(word string) (string, bool) { return word, known[word] }
			for _, question := range [][]string{{"run"}, {"blast", "--worst", "3"}} {
				want, got := answered(t, before, question), answered(t, after, question)
				if diff := cmp.Diff(m.back(want, same), m.back(got, m.old)); diff != "" {
					if len(diff) > 4000 {
						diff = diff[:4000]
					}
					t.Errorf("simulate %s (-with names +without, names put back):\n%s", strings.Join(question, " "), diff)
				}
			}
		})
	}
}

// anonymousWorlds returns the objects of each dump of the tests, and of each scenario of the project that is not large.
func anonymousWorlds(t *testing.T) map[string][]cluster.Object {
	worlds := map[string][]cluster.Object{}
	add := func(name string, data []byte) {
		set, err := manifest.Decode(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range set.Objects {
			worlds[name] = append(worlds[name], obj.Object)
		}
	}
	add("dump", dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 30}))
	add("dump of operators", dumptest.Dump(dumptest.Options{Seed: 2, Nodes: 24, Operators: true, Scaling: true}))
	for _, file := range []string{"pkg/ask/verify/testdata/history/dump.json.gz", "pkg/ask/verify/testdata/history-nodes/dump.json.gz", "pkg/loader/testdata/edit/dump.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".gz") {
			packed, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(packed); err != nil {
				t.Fatal(err)
			}
		}
		add(file, data)
	}
	examples, err := scenarios.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		s, err := loader.Load(filepath.Join("../../../scenarios", example.File()), loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Nodes()) > 100 || s.Federated() {
			continue
		}
		seen := map[cluster.Ref]bool{}
		for _, obj := range s.Objects() {
			if ref := cluster.RefTo(obj); !seen[ref] && cluster.CheckChangeable(obj) == nil && !strings.Contains(ref.Kind, "AdmissionPolicy") {
				if _, param := obj.(*cluster.Param); !param {
					seen[ref] = true
					worlds["scenario "+example.Name] = append(worlds["scenario "+example.Name], obj)
				}
			}
		}
	}
	return worlds
}

// writeDump writes the dump into a folder of its own, always under the same name.
func writeDump(t *testing.T, dump *anonymous.Dump) string {
	dir := t.TempDir()
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": dump.Objects})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dump.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func answered(t *testing.T, dir string, question []string) any {
	t.Chdir(dir)
	var out, errOut bytes.Buffer
	if code := app.Main(append(slices.Clone(question), "dump.json", "-o", "json"), nil, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	return decoded(t, out.Bytes())
}

func decoded(t *testing.T, data []byte) any {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// mapping maps old words to new ones.
type mapping map[string]string

var (
	part = regexp.MustCompile(`[A-Za-z0-9]+`)
	// made matches the ends of names that controllers generate from names and templates.
	made = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5,10}$`)
)

// learn compares two versions of a value.
func (m mapping) learn(old, new any) {
	switch o := old.(type) {
	case string:
		n, _ := new.(string)
		olds, news := part.FindAllString(o, -1), part.FindAllString(n, -1)
		if len(olds) == len(news) {
			for i := range olds {
				m[news[i]] = olds[i]
			}
		}
	case []any:
		n, _ := new.([]any)
		for i := range min(len(o), len(n)) {
			m.learn(o[i], n[i])
		}
	case map[string]any:
		n, _ := new.(map[string]any)
		olds, news := others(o, n), others(n, o) // keys keep their order
		for i := range olds {
			if len(olds) == len(news) {
				m.learn(olds[i], news[i])
				m.learn(o[olds[i]], n[news[i]])
			}
		}
		for key, inner := range o {
			m.learn(inner, n[key])
		}
	}
}

// others returns the keys of one object that another lacks.
func others(of, without map[string]any) (keys []string) {
	for key := range of {
		if _, found := without[key]; !found && key != "kubectl.kubernetes.io/last-applied-configuration" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// back returns the value with its old words, and without words that controllers generate. Elements with a part of a generated word are
// sorted, since the generated word decides their order.
func (m mapping) back(value any, old func(string) (string, bool)) any {
	text := func(text string) string {
		return part.ReplaceAllStringFunc(text, func(word string) string {
			if known, found := old(word); found {
				return known
			} else if made.MatchString(word) {
				return "~"
			}
			return word
		})
	}
	switch v := value.(type) {
	case string:
		return text(v)
	case []any:
		line := func(value any) string {
			text, _ := json.Marshal(value) // it was JSON
			return string(text)
		}
		for i := range v {
			v[i] = m.back(v[i], old)
		}
		if strings.Contains(line(v), "~") {
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(line(a), line(b)) })
		}
	case map[string]any:
		changed := map[string]any{}
		for key, inner := range v {
			changed[text(key)] = m.back(inner, old)
		}
		return changed
	}
	return value
}

// old returns the old word of a new one.
func (m mapping) old(word string) (string, bool) {
	old, found := m[word]
	return old, found
}
