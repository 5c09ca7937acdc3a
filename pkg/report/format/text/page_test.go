package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// A long line goes on below, and keeps its words, its colours and its margin.
func TestLineWraps(t *testing.T) {
	for name, test := range map[string]struct {
		width int
		color bool
		cells []Cell
		want  string
	}{
		"fits":            {24, false, Plain.Row("  twenty-four characters"), "  twenty-four characters\n"},
		"one too many":    {23, false, Plain.Row("  twenty-three characters"), "  twenty-three\n    characters\n"},
		"any width":       {0, false, Plain.Row(strings.Repeat("word ", 50) + "end"), strings.Repeat("word ", 50) + "end\n"},
		"a word too long": {20, false, Plain.Row("kubernetes.io/hostname=worker-1 is it"), "kubernetes.io/hostname=worker-1\n  is it\n"},
		"two spaces stay": {40, false, Plain.Row("FailedScheduling  0/3 nodes are available: 3 of them"), "FailedScheduling  0/3 nodes are\n  available: 3 of them\n"},
		"characters":      {20, false, Plain.Row("→→→→→→→→→→ ≥≥≥≥≥≥≥≥"), "→→→→→→→→→→ ≥≥≥≥≥≥≥≥\n"},
		"colours":         {24, true, []Cell{Red.Cell("Pending"), Plain.Cell(" because "), Green.Cell("nobody has room")}, "\x1b[31mPending\x1b[0m because \x1b[32mnobody\x1b[0m\n  \x1b[32mhas room\x1b[0m\n"},
	} {
		p := Page{Width: test.width, Color: test.color}
		p.Line(test.cells...)
		if diff := cmp.Diff(test.want, string(p.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestVerbatimStaysWhole(t *testing.T) {
	p := Page{Width: 20}
	p.Verbatim("simulate run scenario.yaml --restart deployment/web")
	if want := "simulate run scenario.yaml --restart deployment/web\n"; string(p.Bytes()) != want {
		t.Errorf("%q", p.Bytes())
	}
}

// A table that is too wide loses columns in the order given, then wraps its widest cells. Nothing of a cell that is shown is lost.
func TestTableFits(t *testing.T) {
	rows := [][]Cell{
		Dropped(Bold.Row("NAME", "NODES", "WORST", "WHY"), "NODES", "WORST"),
		Plain.Row("zone-a", "12", "web 3/3", "the budget of web is broken, and two pods stay Pending"),
		Plain.Row("zone-b", "9", "<none>", "nothing"),
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
		p := Page{Width: test.width}
		p.Table("", rows...)
		if diff := cmp.Diff(test.want, "\n"+string(p.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever the width, each line fits unless a word does not, and each word of what is shown is there.
func FuzzTableFits(f *testing.F) {
	f.Add("NAME", "a b c", "deployment/web is Pending", 0)
	f.Add("", "\x1b[2J", "ÄÖÜ ≥ →", -1)
	f.Add("x", "one\ntwo", strings.Repeat("word ", 40), 20)
	f.Add(strings.Repeat("sixteen of these ", 9), strings.Repeat("word ", 9), strings.Repeat("word ", 40), 0)
	f.Fuzz(func(t *testing.T, title, left, right string, width int) {
		width = 40 + int(uint(width)%200)
		title, left, right = title[:min(500, len(title))], left[:min(500, len(left))], right[:min(1000, len(right))]
		p := Page{Width: width}
		p.Table("  ", Plain.Row(title, "HEAD"), Plain.Row(left, right))
		words := strings.Fields(Clean(title + " HEAD " + left + " " + right))
		for line := range strings.Lines(string(p.Bytes())) {
			longest := 0
			for _, word := range words {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && longest < minWrapped {
				t.Errorf("%d characters of %d: %q", n, width, line)
			}
		}
		for _, word := range words {
			if !strings.Contains(string(p.Bytes()), word) {
				t.Errorf("%q is missing in\n%s", word, p.Bytes())
			}
		}
	})
}
