package manifest

import "testing"

func TestClean(t *testing.T) {
	tests := map[string]string{
		"web-1":               "web-1",
		"Zürich 東京":           "Zürich 東京",
		"\x1b[31mred":         `\x1b[31mred`,
		"a\r\nb\tc":           `a\r\nb\tc`,
		"\u009b2J\u202etxt":   `\u009b2J\u202etxt`,
		"invalid \xff":        "invalid \ufffd",
		`a backslash \ and '`: `a backslash \ and '`,
	}
	for given, want := range tests {
		if got := Clean(given); got != want {
			t.Errorf("clean(%q) = %q, want %q", given, got, want)
		}
	}
}
