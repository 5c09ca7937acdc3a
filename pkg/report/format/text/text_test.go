package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

func rendered(opts report.Options, b doc.Block) string {
	var d doc.Doc
	d.Add(b)
	return string(Render(&d, opts))
}

// A long line continues on the next one, and keeps its words, its colours and its margin.
func TestLineWraps(t *testing.T) {
	for name, test := range map[string]struct {
		width int
		color bool
		cells []doc.Cell
		want  string
	}{
		"fits":            {24, false, doc.Plain.Row("  twenty-four characters"), "  twenty-four characters\n"},
		"one too many":    {23, false, doc.Plain.Row("  twenty-three characters"), "  twenty-three\n    characters\n"},
		"any width":       {0, false, doc.Plain.Row(strings.Repeat("word ", 50) + "end"), strings.Repeat("word ", 50) + "end\n"},
		"a word too long": {20, false, doc.Plain.Row("kubernetes.io/hostname=worker-1 is it"), "kubernetes.io/hostname=worker-1\n  is it\n"},
		"two spaces stay": {40, false, doc.Plain.Row("FailedScheduling  0/3 nodes are available: 3 of them"), "FailedScheduling  0/3 nodes are\n  available: 3 of them\n"},
		"characters":      {20, false, doc.Plain.Row("→→→→→→→→→→ ≥≥≥≥≥≥≥≥"), "→→→→→→→→→→ ≥≥≥≥≥≥≥≥\n"},
		"colours":         {24, true, []doc.Cell{doc.Red.Cell("Pending"), doc.Plain.Cell(" because "), doc.Green.Cell("nobody has room")}, "\x1b[31mPending\x1b[0m because \x1b[32mnobody\x1b[0m\n  \x1b[32mhas room\x1b[0m\n"},
	} {
		got := rendered(report.Options{Width: test.width, Color: test.color}, doc.Line(test.cells))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestVerbatimStaysWhole(t *testing.T) {
	got := rendered(report.Options{Width: 20}, doc.Verbatim{"simulate run scenario.yaml --restart deployment/web"})
	if want := "simulate run scenario.yaml --restart deployment/web\n"; got != want {
		t.Errorf("%q", got)
	}
}

// A table that is too wide loses columns in the given order, then wraps its widest cells. The cells that stay are complete.
func TestTableFits(t *testing.T) {
	rows := [][]doc.Cell{
		doc.SetDropOrder(doc.Bold.Row("NAME", "NODES", "WORST", "WHY"), "NODES", "WORST"),
		doc.Plain.Row("zone-a", "12", "web 3/3", "the budget of web is broken, and two pods stay Pending"),
		doc.Plain.Row("zone-b", "9", "<none>", "nothing"),
	}
	for name, test := range map[string]struct {
		width int
		want  string
	}{
		"all": {0, `
NAME     NODES   WORST     WHY
zone-a   12      web 3/3   the budget of web is broken, and two pods stay Pending
zone-b   9       <none>    nothing
`},
		"one column less": {73, `
NAME     WORST     WHY
zone-a   web 3/3   the budget of web is broken, and two pods stay Pending
zone-b   <none>    nothing
Not shown for lack of width: NODES. COLUMNS=146 shows more.
`},
		"two less, and wrapped": {40, `
NAME     WHY
zone-a   the budget of web is broken,
         and two pods stay Pending
zone-b   nothing
Not shown for lack of width: NODES and
  WORST. COLUMNS=80 shows more.
`},
	} {
		got := rendered(report.Options{Width: test.width}, doc.Table{Rows: rows})
		if diff := cmp.Diff(test.want, "\n"+got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Names as clouds give them are wrapped after dots, dashes and slashes. If that is not enough, the last columns are left out. Titles stay
// whole, and so does a table without titles.
func TestLongNamesAreWrapped(t *testing.T) {
	node := "ip-10-22-0-102.eu-west-1.compute.internal"
	titled := [][]doc.Cell{doc.Bold.Row("POD", "NODE", "RADIUS/REGION", "NOT BACK/HOSTNAME"), doc.Plain.Row("kube-system/cluster-autoscaler-kf4bcsw5pw-7xb6d", node, "100%", "12 of 13")}
	for name, test := range map[string]struct {
		width int
		rows  [][]doc.Cell
		want  string
	}{
		"wrapped": {80, titled, `
POD                    NODE                    RADIUS/REGION   NOT BACK/HOSTNAME
kube-system/cluster-   ip-10-22-0-102.eu-      100%            12 of 13
autoscaler-            west-1.compute.
kf4bcsw5pw-7xb6d       internal
`},
		"titles, too": {60, titled, `
POD            NODE           RADIUS/REGION   NOT
                                              BACK/HOSTNAME
kube-system/   ip-10-22-0-    100%            12 of 13
cluster-       102.eu-west-
autoscaler-    1.compute.
kf4bcsw5pw-    internal
7xb6d
`},
		"one column less": {50, titled, `
POD               NODE               RADIUS/REGION
kube-system/      ip-10-22-0-102.    100%
cluster-          eu-west-1.
autoscaler-       compute.internal
kf4bcsw5pw-
7xb6d
Not shown for lack of width: NOT BACK/HOSTNAME.
  COLUMNS=100 shows more.
`},
		"no titles": {40, [][]doc.Cell{doc.Plain.Row("34", "NodeResourcesFit", node)}, `
34    NodeResourcesFit   ip-10-22-0-102.
                         eu-west-1.
                         compute.
                         internal
`},
	} {
		got := rendered(report.Options{Width: test.width}, doc.Table{Rows: test.rows})
		if diff := cmp.Diff(test.want, "\n"+got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// At any width, each line fits unless a single word does not, and no word of a shown cell is lost.
func FuzzTableFits(f *testing.F) {
	f.Add("NAME", "a b c", "deployment/web is Pending", 0)
	f.Add("", "\x1b[2J", "ÄÖÜ ≥ →", -1)
	f.Add("x", "one\ntwo", strings.Repeat("word ", 40), 20)
	f.Add(strings.Repeat("sixteen of these ", 9), strings.Repeat("word ", 9), strings.Repeat("word ", 40), 0)
	f.Fuzz(func(t *testing.T, title, left, right string, width int) {
		width = 40 + int(uint(width)%200)
		title, left, right = title[:min(500, len(title))], left[:min(500, len(left))], right[:min(1000, len(right))]
		got := rendered(report.Options{Width: width}, doc.Table{Indent: "  ", Rows: [][]doc.Cell{doc.Plain.Row(title, "HEAD"), doc.Plain.Row(left, right)}})
		words := strings.Fields(doc.Clean(title + " HEAD " + left + " " + right))
		for line := range strings.Lines(got) {
			longest := 0
			for _, word := range words {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && longest < minWrapped {
				t.Errorf("%d characters of %d: %q", n, width, line)
			}
		}
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%q is missing in\n%s", word, got)
			}
		}
	})
}
