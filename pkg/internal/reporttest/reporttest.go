// Package reporttest has what the tests of reports share: golden files, schemas, and texts that try to break a page.
package reporttest

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Hostile is a text with everything that could break a page, or act on it.
const Hostile = "a|b `c` ``d`` <img src=x onerror=y> </details> *e* _f_ ~~g~~ [h](http://i) https://j.example @k #1 \\| \\` &lt; $l$ !\x1b[2J\n- m\n\n# n"

// Golden compares the text with a file of testdata, or writes the file with -update.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", file), got)
}

// ReadFile returns the content of a file.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Schema reads the schema of a report from docs.
func Schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	return compileSchema(t, ReadFile(t, filepath.Join(docsFolder(t), name+".schema.json")))
}

// docsFolder returns the folder docs of the repository: beside or above the folder of the test.
func docsFolder(t testing.TB) string {
	t.Helper()
	from, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for folder := from; ; folder = filepath.Dir(folder) {
		docs := filepath.Join(folder, "docs")
		if info, err := os.Stat(docs); err == nil && info.IsDir() {
			return docs
		}
		if folder == filepath.Dir(folder) {
			t.Fatalf("no folder docs beside or above %s", from)
		}
	}
}

//go:embed sarif-schema-2.1.0.json
var sarifSchema []byte

// SARIF returns the standard's own schema: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json.
func SARIF(t *testing.T) *jsonschema.Schema { return compileSchema(t, sarifSchema) }

func compileSchema(t *testing.T, data []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Validate validates JSON against a schema, and returns what the JSON violates.
func Validate(t *testing.T, schema *jsonschema.Schema, data string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// RenderMarkdown converts Markdown to HTML as GitHub does.
func RenderMarkdown(t *testing.T, markdown string) string {
	t.Helper()
	var out bytes.Buffer
	converter := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := converter.Convert([]byte(markdown), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	elementPattern = regexp.MustCompile(`<(/?[a-z0-9]+)[^>]*>`)
	codePattern    = regexp.MustCompile(`(?s)<code>.*?</code>`)
	cellPattern    = regexp.MustCompile(`(^|[^\\])\|`)
)

// CheckHarmless fails the test if a page of Markdown with hostile names has an element that reports do not use, mentions somebody, or has a
// broken table.
func CheckHarmless(t *testing.T, page string) {
	t.Helper()
	shown := RenderMarkdown(t, page)
	for _, found := range elementPattern.FindAllStringSubmatch(shown, -1) {
		switch strings.TrimPrefix(found[1], "/") {
		case "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "h3", "pre", "code", "details", "summary":
		default:
			t.Errorf("%s in\n%s", found[0], shown)
		}
	}
	if opened, closed := strings.Count(shown, "<details>"), strings.Count(shown, "</details>"); opened != closed {
		t.Errorf("%d details are opened and %d closed", opened, closed)
	}
	if outside := codePattern.ReplaceAllString(shown, ""); strings.ContainsAny(outside, "@#\x1b") {
		t.Errorf("a mention or a reference outside of code in\n%s", shown)
	}
	if strings.Contains(shown, "<td></td>\n<td></td>\n<td></td>") {
		t.Errorf("a table breaks in\n%s", shown)
	}
	// GitHub's tables drop surplus cells, so each row must have as many cells as it has parts.
	for _, line := range strings.Split(page, "\n") {
		if cells := cellPattern.FindAllString(line, -1); strings.HasPrefix(line, "| ") && len(cells) < 3 {
			t.Errorf("a row of few cells: %s", line)
		}
	}
}

// CheckBounded fails the test if a page of Markdown is too long for a comment on GitHub, or does not say how many of these things are left out.
func CheckBounded(t *testing.T, page string, things ...string) {
	t.Helper()
	const most = 65_536
	if len(page) > most {
		t.Errorf("%d bytes, want at most %d", len(page), most)
	}
	for _, thing := range things {
		if !regexp.MustCompile(`\nand \d+ more ` + thing).MatchString(page) {
			t.Errorf("nothing says that there are more %s", thing)
		}
	}
}

// Nodes returns nodes with 4 cores and 8 GiB each. The zone is the first part of the name: a-1 is in zone a.
func Nodes(names ...string) []*v1.Node {
	var nodes []*v1.Node
	for _, name := range names {
		zone, _, _ := strings.Cut(name, "-")
		nodes = append(nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110"),
			}},
		})
	}
	return nodes
}

// Result returns the result of a run of the scenario shop on these nodes: one step for each name, in which nothing happens.
func Result(t *testing.T, nodes []*v1.Node, steps ...string) *simulation.Result {
	t.Helper()
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	state := &cluster.State{Nodes: nodes}
	r := &simulation.Result{Scenario: &scenario.Scenario{Name: "shop", Config: config}, Initial: state}
	for _, name := range steps {
		r.Steps = append(r.Steps, simulation.Step{Name: name, Action: "apply -f " + name + ".yaml", State: state})
	}
	return r
}

// Write returns the report in a format.
func Write[R any](t *testing.T, formats report.Formats[R], r *R, format string, opts report.Options) string {
	t.Helper()
	var out strings.Builder
	if err := formats.Write(&out, r, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Formats writes a report in each of its formats for readers, compares them with golden files of that name, validates its JSON against its
// schema, and reads JSON and YAML back.
func Formats[R any](t *testing.T, formats report.Formats[R], r *R, name, schema, kind string) {
	t.Helper()
	for _, format := range formats.Names() {
		out := Write(t, formats, r, format, report.Options{})
		switch format {
		case "text":
			Golden(t, name+".text", out)
			if quiet := Write(t, formats, r, format, report.Options{Quiet: true}); quiet != out {
				Golden(t, name+".quiet", quiet)
			}
			if all := Write(t, formats, r, format, report.Options{All: true}); all != out {
				Golden(t, name+".all", all)
			}
			Golden(t, name+".color", Write(t, formats, r, format, report.Options{Color: true}))
			checkTables(t, name, out, Write(t, formats, r, format, report.Options{Width: terminal}))
		case "wide":
			checkTables(t, name, out, Write(t, formats, r, format, report.Options{Width: terminal}))
		case "markdown", "csv":
			Golden(t, name+"."+format, out)
		case "json", "yaml":
			again, err := report.Decode[R](name, []byte(out), kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out, Write(t, formats, again, format, report.Options{})); diff != "" {
				t.Errorf("%s comes back as something else (-want +got):\n%s", format, diff)
			}
			if format == "json" {
				if err := Validate(t, Schema(t, schema), out); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// terminal is the width of a terminal.
const terminal = 80

// partPattern matches the parts of a name between which a table may break it, and the parts of a plugin's name.
var partPattern = regexp.MustCompile(`[A-Z]?[^A-Z.\-/:=,_@]+[.\-/:=,_@]*|[A-Z.\-/:=,_@]+`)

// checkTables fails the test if a row of a table is wider than a terminal, or if a line for the terminal has a part of a word: narrow is the
// text for a terminal, whole the text without a limit.
func checkTables(t *testing.T, name, whole, narrow string) {
	t.Helper()
	has := map[string]bool{}
	for _, word := range strings.Fields(whole + " Not shown for lack of width: COLUMNS=160 shows more. 5 6 7 8 9 columns") {
		parts := partPattern.FindAllString(word, -1)
		for i := range parts {
			for j := i + 1; j <= len(parts); j++ {
				has[strings.Join(parts[i:j], "")] = true
			}
		}
		has[word] = true
	}
	for line := range strings.Lines(narrow) {
		line = strings.TrimSpace(line)
		if n := utf8.RuneCountInString(line); n > terminal && strings.Contains(line, "   ") {
			t.Errorf("%s: a row of %d characters on a terminal of %d: %s", name, n, terminal, line)
		}
		for _, word := range strings.Fields(line) {
			if !has[word] && !has[strings.TrimRight(word, ".,")] {
				t.Errorf("%s: %q is no whole word in: %s", name, word, line)
			}
		}
	}
}

// CheckLines fails the test if the text lacks one of the lines. The order of lines and the width of columns do not matter.
func CheckLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	narrow := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		has[narrow(line)] = true
	}
	for _, line := range lines {
		if !has[narrow(line)] {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}
