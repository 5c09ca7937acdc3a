package words

import "testing"

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"0 pods": Count(0, "pod"), "1 pod": Count(1, "pod"), "2 pods": Count(2, "pod"),
		"": And(nil), "a": And([]string{"a"}), "a and b": And([]string{"a", "b"}), "a, b and c": And([]string{"a", "b", "c"}),
		"a, b, c, d, e and f":         Few([]string{"a", "b", "c", "d", "e", "f"}),
		"a, b, c, d, e, f and 2 more": Few([]string{"a", "b", "c", "d", "e", "f", "g", "h"}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th"} {
		if got := Ordinal(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
