package report

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

// What variants say of themselves comes from a file, too.
func TestCompareMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile + "\a\u202e"
	page := string(compareMarkdown(&CompareReport{Head: Head{Scenario: h}, Variants: []CompareVariant{{Name: "baseline"}, {Name: h, Description: h}}}))
	if shown := reporttest.Rendering(t, page); strings.Contains(shown, "<img") || strings.Contains(shown, "<a ") || strings.ContainsAny(page, "\x1b\a\u202e") {
		t.Errorf("markup or control characters in\n%s", page)
	}
}
