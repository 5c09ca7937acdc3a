package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

// A reader sees the text of a cell as it is, whatever characters it has.
func TestMarkdownShowsTheText(t *testing.T) {
	tag := regexp.MustCompile(`<[^>]*>`)
	for _, text := range []string{"a|b", `a\|b`, `\`, "`", "a`b|c", `x\`, "<none>", "&amp;", "1. a_b_c * d", "~/k8s/x.yaml:3", "{key: value}", "a://b"} {
		for name, markup := range map[string]string{"prose": escapeProse(text), "code": CodeSpan(text)} {
			table := &page{}
			table.block("%s%s%s", tableRow([]string{"a", "b"}), tableRow([]string{"---", "---"}), strings.TrimSuffix(tableRow([]string{markup, "end"}), "\n"))
			shown := reporttest.RenderMarkdown(t, table.out.String())
			cells := regexp.MustCompile(`(?s)<td>(.*?)</td>`).FindAllStringSubmatch(shown, -1)
			if len(cells) != 2 {
				t.Errorf("%s of %q: %d cells in\n%s", name, text, len(cells), shown)
				continue
			}
			if got := unescaped(tag.ReplaceAllString(cells[0][1], "")); got != text {
				t.Errorf("%s of %q shows %q", name, text, got)
			}
			if got := strings.TrimSpace(unescaped(tag.ReplaceAllString(reporttest.RenderMarkdown(t, "Text "+markup), ""))); got != "Text "+text {
				t.Errorf("%s of %q outside of a table shows %q", name, text, got)
			}
		}
	}
}

func unescaped(html string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&").Replace(html)
}

func TestShortened(t *testing.T) {
	if got := shortenText(strings.Repeat("é", maxWords)); got != strings.Repeat("é", maxWords) {
		t.Error("what fits is shortened")
	}
	if got, want := shortenText(strings.Repeat("é", maxWords+1)), fmt.Sprintf("%s…", strings.Repeat("é", maxWords-1)); got != want {
		t.Errorf("got %s", got)
	}
}
