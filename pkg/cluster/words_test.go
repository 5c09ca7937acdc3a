package cluster

import "testing"

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"0 pods": Count(0, "pod"), "1 pod": Count(1, "pod"), "2 pods": Count(2, "pod"),
		"": List(nil), "a": List([]string{"a"}), "a and b": List([]string{"a", "b"}), "a, b and c": List([]string{"a", "b", "c"}),
		"a, b, c, d, e and f":         Few([]string{"a", "b", "c", "d", "e", "f"}),
		"a, b, c, d, e, f and 2 more": Few([]string{"a", "b", "c", "d", "e", "f", "g", "h"}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
