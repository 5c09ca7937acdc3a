package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walkthroughPage is the page of the stored reports of the kind walkthrough.
func walkthroughPage(t *testing.T) Page {
	t.Helper()
	page := Page{Report: &Report{}, Blast: &BlastReport{}}
	load(t, "stored/report.json", page.Report)
	load(t, "stored/blast.json", page.Blast)
	page.Report.Steps[4].Pods[0].Cycle = nil // as without --explain
	return page
}

// hostilePage has names and messages that try to leave their place, a pod with a cycle and one that waits with it, and the
// explanations of both.
func hostilePage(t *testing.T) Page {
	t.Helper()
	var page Page
	load(t, "html/hostile.json", &page)
	return page
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func writeHTML(t *testing.T, page Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteHTML(&out, page); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The golden files hold the page without its style and script, which are files of their own, and without their hashes.
func TestHTMLGolden(t *testing.T) {
	for name, page := range map[string]Page{"walkthrough": walkthroughPage(t), "hostile": hostilePage(t)} {
		out := strings.ReplaceAll(writeHTML(t, page), "&#43;", "+") // as html/template writes the hashes
		golden(t, "html/"+name+".html", strings.NewReplacer(pageStyle, "…", pageScript, "…",
			strings.Trim(sourceHash(pageStyle), "'"), "…", strings.Trim(sourceHash(pageScript), "'"), "…").Replace(out))
	}
}

func TestHTMLSaysTheSameTwice(t *testing.T) {
	first, second := writeHTML(t, walkthroughPage(t)), writeHTML(t, walkthroughPage(t))
	if first != second {
		t.Error("two pages of one report differ")
	}
}

// Names and messages never stand in the page as they are: not in its HTML, not in its data.
func TestHTMLEscapes(t *testing.T) {
	out := writeHTML(t, hostilePage(t))
	for part, want := range map[string]int{"<script": 2, "</script": 2, "<title": 1, "</title": 1, "<img": 0, "<i>": 0, "<b>": 0, "<em>": 0, "<pod>": 0} {
		if got := strings.Count(strings.Replace(out, pageScript, "", 1), part); got != want {
			t.Errorf("%d times %s in the page, want %d", got, part, want)
		}
	}
	_, data, _ := strings.Cut(out, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	if i := strings.IndexAny(data, "<>&\u2028\u2029"); i >= 0 {
		t.Errorf("%q in the data", data[i:min(len(data), i+20)])
	}
	if !strings.Contains(data, `alert(1)`) || !strings.Contains(data, `\u2028`) {
		t.Error("the data lacks the hostile names")
	}
}

// The script has no way to read text as HTML or as code, and all its files are in it.
func TestHTMLScript(t *testing.T) {
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "import(", "</script", "<!--", "http:"} {
		if strings.Contains(strings.ReplaceAll(pageScript, "http://www.w3.org/2000/svg", ""), forbidden) {
			t.Errorf("the script has %s", forbidden)
		}
	}
	files, err := fs.Glob(pageAssets, "html/*.js")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(pageScripts)), names); diff != "" {
		t.Errorf("scripts of the page and files (-page +files):\n%s", diff)
	}
}

func TestHTMLErrors(t *testing.T) {
	err := WriteHTML(&bytes.Buffer{}, Page{Blast: &BlastReport{}})
	if want := "no report for the page; give a report, an explanation, or both"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := WriteHTML(brokenWriter{}, Page{Report: &Report{}}); err == nil || err.Error() != "disk full" {
		t.Errorf("got %v, want disk full", err)
	}
}

func TestVerdict(t *testing.T) {
	met, failed := Expectation{Met: true}, Expectation{}
	step := func(running, pending, notReady int, expectations ...Expectation) Step {
		return Step{Summary: Summary{Pods: running + pending + notReady, Running: running, Pending: pending, NotReady: notReady}, Expectations: expectations}
	}
	tests := map[string]struct {
		steps          []Step
		words, outcome string
	}{
		"none":    {nil, "The scenario has no steps.", "open"},
		"empty":   {[]Step{{}}, "Nothing was expected; after the last step there are no pods.", "open"},
		"met":     {[]Step{step(2, 0, 0, met, met)}, "2 of 2 expectations met; after the last step every pod runs (2).", "met"},
		"failed":  {[]Step{step(2, 1, 0, met), step(2, 1, 1, failed)}, "1 of 2 expectations not met; after the last step 2 of 4 pods running, 1 Pending, 1 on lost nodes; pods stayed Pending in 1 step before it.", "failed"},
		"earlier": {[]Step{step(1, 1, 0), step(1, 2, 0), step(1, 0, 0, met)}, "1 of 1 expectation met; after the last step every pod runs (1); pods stayed Pending in 2 steps before it.", "met"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			words, outcome := verdict(test.steps)
			if diff := cmp.Diff([]string{test.words, test.outcome}, []string{words, outcome}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnoredKinds(t *testing.T) {
	var ignored []Ignored
	for i := range 7 {
		ignored = append(ignored, Ignored{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Ignored{APIVersion: "v1", Kind: "Secret"})
	}
	want := []ignoredKind{{"v1", "ConfigMap", 7, "c0, c1, c2, c3, c4, …"}, {"v1", "Secret", 7, "<none>, <none>, <none>, <none>, <none>, …"}}
	if diff := cmp.Diff(want, ignoredKinds(ignored)); diff != "" {
		t.Error(diff)
	}
}

// What pack writes is what was given, once it is taken apart.
func TestPack(t *testing.T) {
	models := map[string]any{
		"walkthrough": walkthroughPage(t), "hostile": hostilePage(t), "string": "a<b", "number": 3, "nothing": nil, "list": []any{},
		"odd": map[string]any{"": map[string]any{}, "a": []any{}, "b": []any{[]any{}, []any{}}, "c": map[string]any{}, "__proto__": "x", "long": []any{"twice as long", "twice as long", "true", true, 1.5, -1, nil}},
	}
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			data, err := pack(model)
			if err != nil {
				t.Fatal(err)
			}
			var packed struct {
				Shapes [][]string
				Shared []any
				Root   any
			}
			if err := json.Unmarshal(data, &packed); err != nil {
				t.Fatal(err)
			}
			var value func(any) any
			value = func(given any) any {
				list, compound := given.([]any)
				if !compound {
					return given
				}
				first, rest := int(list[0].(float64)), list[1:]
				switch {
				case first == -1:
					all := []any{}
					for _, within := range rest {
						all = append(all, value(within))
					}
					return all
				case first == -2:
					return map[string]any{}
				case len(rest) == 0:
					return value(packed.Shared[first])
				}
				object := map[string]any{}
				for i, within := range rest {
					object[packed.Shapes[first][i]] = value(within)
				}
				return object
			}
			plain, err := json.Marshal(model)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal(plain, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, value(packed.Root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// By hand: the object occurs twice and is shared, with the long text that stands in it; the number is not.
func TestPackShares(t *testing.T) {
	pod := map[string]any{"name": "a long name", "n": 1}
	got, err := pack([]any{pod, pod, "a long name"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"shapes":[["n","name"]],"shared":["a long name",[0,1,[0]]],"root":[-1,[1],[1],[0]]}`
	if diff := cmp.Diff(want, strings.ReplaceAll(string(got), "\n", "")); diff != "" {
		t.Error(diff)
	}
}
