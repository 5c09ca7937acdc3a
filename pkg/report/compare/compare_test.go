package compare

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// What variants say of themselves comes from a file, too.
func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile + "\a\u202e"
	page := string(markdownPage(&Report{Head: report.Head{Scenario: h}, Variants: []Variant{{Name: "baseline"}, {Name: h, Description: h}}}))
	if shown := reporttest.Rendering(t, page); strings.Contains(shown, "<img") || strings.Contains(shown, "<a ") || strings.ContainsAny(page, "\x1b\a\u202e") {
		t.Errorf("markup or control characters in\n%s", page)
	}
}
