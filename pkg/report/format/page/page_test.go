package page_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/explain"
	"github.com/faultline/faultline/pkg/report/format/page"
	"github.com/faultline/faultline/pkg/report/run"
)

// reports are the models on a page.
type reports struct {
	Report  *run.Report     `json:"report"`
	Blast   *blast.Report   `json:"blast"`
	Explain *explain.Report `json:"explain"`
}

// page returns the page of the report, with the other models.
func (r *reports) page() *page.Page {
	if r.Report == nil {
		return r.Explain.Page()
	}
	page := r.Report.Page()
	if r.Blast != nil {
		page.Data.Blast = r.Blast
	}
	if r.Explain != nil {
		page.Pods, page.Data.Explain = r.Explain.Page().Pods, r.Explain
	}
	return page
}

// walkthrough returns the stored reports of the kind walkthrough, in which only one pod has its cycle.
func walkthrough(t *testing.T) *reports {
	t.Helper()
	r := &reports{Report: &run.Report{}, Blast: &blast.Report{}}
	load(t, "../../../run/testdata/walkthrough.json", r.Report)
	load(t, "../../../blast/testdata/walkthrough.json", r.Blast)
	return r
}

// hostile returns reports with names and messages that try to break out of their place, a pod with a cycle and a Pending one, and the
// explanations of both.
func hostile(t *testing.T) *reports {
	t.Helper()
	var r reports
	load(t, "hostile.json", &r)
	return &r
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

func (r *reports) html(t *testing.T) string {
	t.Helper()
	var html strings.Builder
	if err := r.page().WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

// The golden files have the page without its style and script, which are files of their own, and without the hashes of these.
func TestPageGolden(t *testing.T) {
	inline, hash := regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`), regexp.MustCompile(`sha256-[A-Za-z0-9+/]+=*`)
	for name, r := range map[string]*reports{"walkthrough": walkthrough(t), "hostile": hostile(t)} {
		reporttest.Golden(t, ""+name+".html", hash.ReplaceAllString(inline.ReplaceAllString(r.html(t), "$1…$2"), "…"))
	}
}

func TestHTMLSaysTheSameTwice(t *testing.T) {
	first, second := walkthrough(t).html(t), walkthrough(t).html(t)
	if first != second {
		t.Error("two pages of one report differ")
	}
}

// Names and messages are always escaped on the page: in its HTML and in its data.
func TestHTMLEscapes(t *testing.T) {
	out, script := hostile(t).html(t), regexp.MustCompile(`(?s)<script>.*?</script>`)
	for part, want := range map[string]int{"<script": 2, "</script": 2, "<title": 1, "</title": 1, "<img": 0, "<i>": 0, "<b>": 0, "<em>": 0, "<pod>": 0} {
		if got := strings.Count(script.ReplaceAllString(out, "<script></script>"), part); got != want {
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

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPageErrors(t *testing.T) {
	if err := new(run.Report).Page().WriteHTML(brokenWriter{}); err == nil || err.Error() != "disk full" {
		t.Errorf("got %v, want disk full", err)
	}
}
