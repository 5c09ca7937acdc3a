package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// The script never parses text as HTML or code.
func TestHTMLScript(t *testing.T) {
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "import(", "</script", "<!--", "http:"} {
		if strings.Contains(strings.ReplaceAll(pageScript, "http://www.w3.org/2000/svg", ""), forbidden) {
			t.Errorf("the script has %s", forbidden)
		}
	}
}

func TestIgnoredKinds(t *testing.T) {
	var ignored []report.Ignored
	for i := range 7 {
		ignored = append(ignored, report.Ignored{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, report.Ignored{APIVersion: "v1", Kind: "Secret"})
	}
	want := []ignoredKind{{"v1", "ConfigMap", 7, "c0, c1, c2, c3, c4, …"}, {"v1", "Secret", 7, "<none>, <none>, <none>, <none>, <none>, …"}}
	if diff := cmp.Diff(want, ignoredKinds(ignored)); diff != "" {
		t.Error(diff)
	}
}

// Unpacking the output of pack gives the input.
func TestPack(t *testing.T) {
	models := map[string]any{
		"hostile": stored(t, "testdata/hostile.json"), "string": "a<b", "number": 3, "nothing": nil, "list": []any{},
		"odd": map[string]any{"": map[string]any{}, "a": []any{}, "b": []any{[]any{}, []any{}}, "c": map[string]any{}, "__proto__": "x", "long": []any{"twice as long", "twice as long", "true", true, 1.5, -1, nil}},
	}
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			var data bytes.Buffer
			if err := pack(&data, model); err != nil {
				t.Fatal(err)
			}
			var packed struct {
				Shapes [][]string
				Shared []any
				Root   any
			}
			if err := json.Unmarshal(data.Bytes(), &packed); err != nil {
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

// By hand: the object occurs twice and is shared, with the long text in it; the number is not.
func TestPackShares(t *testing.T) {
	pod := map[string]any{"name": "a long name", "n": 1}
	var got strings.Builder
	if err := pack(&got, []any{pod, pod, "a long name"}); err != nil {
		t.Fatal(err)
	}
	want := `{"shapes":[["n","name"]],"shared":["a long name",[0,1,[0]]],"root":[-1,[1],[1],[0]]}`
	if diff := cmp.Diff(want, strings.ReplaceAll(got.String(), "\n", "")); diff != "" {
		t.Error(diff)
	}
}

// stored returns the content of a JSON file.
func stored(t *testing.T, file string) any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var model any
	if err := json.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	return model
}

// A page may be empty, and a figure may have no rows. The policy allows the style of both.
func TestPagesOfNothing(t *testing.T) {
	var page, figure strings.Builder
	if err := (&Page{}).WriteHTML(&page); err != nil || !strings.Contains(page.String(), "<title>Faultline report · Faultline</title>") {
		t.Errorf("%v in\n%.300s", err, page.String())
	}
	err := WriteDoc(&figure, &doc.Doc{Head: report.Head{Kind: "SweepReport"}}, Picture{})
	if err != nil || !strings.Contains(figure.String(), "<title>SweepReport · Faultline</title>") || strings.Contains(figure.String(), "script-src") {
		t.Errorf("%v in\n%.300s", err, figure.String())
	}
	for _, html := range []string{page.String(), figure.String()} {
		if !strings.Contains(strings.ReplaceAll(html, "&#39;", "'"), "style-src "+sourceHash(pageStyle)) || !strings.Contains(html, "<style>"+pageStyle+"</style>") {
			t.Errorf("the policy refuses the style in\n%.300s", html)
		}
	}
}
