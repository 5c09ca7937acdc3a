package manifest

import "testing"

func TestLines(t *testing.T) {
	text := `# a comment
name: a
steps:
- name: one
  expect: {pending: 1,
    message: m}
-
  name: two
  expect: &same
    pending: 2
- {name: three, expect: *same}
`
	lines := NewLines([]byte(text))
	for _, c := range []struct {
		path []any
		want int
	}{
		{nil, 2},
		{[]any{"steps"}, 3},
		{[]any{"steps", 0}, 4},
		{[]any{"steps", 0, "expect", "message"}, 6},
		{[]any{"steps", 1, "expect", "pending"}, 10},
		{[]any{"steps", 1, "expect", "message"}, 9}, // message does not exist; the line is that of expect
		{[]any{"steps", 2, "expect", "pending"}, 10},
		{[]any{"steps", 7}, 3},
		{[]any{"name", "first"}, 2},
	} {
		if got := lines.LineOf(c.path...); got != c.want {
			t.Errorf("%v is on line %d, want %d", c.path, got, c.want)
		}
	}
	for _, text := range []string{"", "a: [", "\x00"} {
		if got := NewLines([]byte(text)).LineOf("a"); got != 1 {
			t.Errorf("%q: line %d, want 1", text, got)
		}
	}
}
