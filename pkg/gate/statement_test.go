package gate

import (
	"strings"
	"testing"
)

func TestHeadline(t *testing.T) {
	warning := func(about, text string) Statement { return Statement{About: about, Text: text} }
	failure := func(about, text string) Statement { return Statement{About: about, Text: text, Fails: true} }
	for _, c := range []struct {
		name string
		all  []Statement
		want string
	}{
		{"nothing", nil, "✅ nothing is worse"},
		{"a warning", []Statement{warning("shop/web", "1 replica is left of 3")}, "⚠️ shop/web: 1 replica is left of 3"},
		{"a reason to fail comes first", []Statement{warning("a", "x"), failure("b", "y")}, "❌ b: y; a: x"},
		{"one statement of each subject", []Statement{failure("a", "x"), failure("a", "z"), failure("b", "y")}, "❌ a: x; b: y"},
		{"three subjects", []Statement{failure("a", "1"), failure("b", "2"), failure("c", "3"), failure("d", "4"), warning("e", "5")}, "❌ a: 1; b: 2; c: 3; and 2 more"},
		{"a command is code", []Statement{failure("helm template <x>", "is missing")}, "❌ `helm template <x>`: is missing"},
		{"names are no markup", []Statement{failure("a", "<b> @me")}, "❌ a: &lt;b&gt; `@`me"},
	} {
		if got := headline(c.all, "nothing is worse"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := headline([]Statement{failure("a", strings.Repeat("long ", 100))}, ""); len([]rune(got)) > 250 {
		t.Errorf("a headline of %d characters: %s", len([]rune(got)), got)
	}
}

// A comment of many sections stays short: sections that do not fit have a line, and those without a difference are counted.
func TestCommentIsShort(t *testing.T) {
	c := Comment{Compared: true}
	for range 60 {
		c.Sections = append(c.Sections, Section{Name: "same", Unchanged: true},
			Section{Name: "worse", Judgement: &Judgement{Statements: []Statement{{About: "web", Text: "worse", Fails: true}}, Pending: strings.Split(strings.Repeat("line,", 20), ",")}})
	}
	text := c.Markdown()
	if n := strings.Count(text, "\n"); n > 230 {
		t.Errorf("the comment has %d lines", n)
	}
	for _, want := range []string{"❌ web: worse\n", "### `worse`", "\n- `worse` ❌ web: worse\n", "\n- and ", "No difference: `same`", "and 54 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
}
