package words

import (
	"strconv"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"0 pods": Count(0, "pod"), "1 pod": Count(1, "pod"), "2 pods": Count(2, "pod"),
		"": And(nil), "a": And([]string{"a"}), "a and b": And([]string{"a", "b"}), "a, b and c": And([]string{"a", "b", "c"}),
		"a or b": Or([]string{"a", "b"}), "a, b or c": Or([]string{"a", "b", "c"}), "none: ": "none: " + Or(nil),
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

func TestShortValues(t *testing.T) {
	long, x := strings.Repeat("x", 2000), strings.Repeat("x", 80)
	for line, want := range map[string]string{
		"a " + x + " b": "a " + x + " b",
		"--ties: unknown value \"" + long + `": use b`: `--ties: unknown value "` + x + "… (2000 characters) …" + x + `": use b`,
		"--keys " + long + ": is given twice":          "--keys " + x + "… (2001 characters) …" + x[1:] + ": is given twice",
	} {
		got := ShortenValues(line)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
		if again := ShortenValues(got); again != got {
			t.Errorf("cut twice, it is %s", again)
		}
	}
}

// If a text in quotes is cut, the result is in quotes, and the length in it is that of the text.
func TestShortValuesKeepQuotes(t *testing.T) {
	got := ShortenValues(strconv.Quote(strings.Repeat("\"\n", 500)))
	if text, err := strconv.Unquote(got); err != nil || !strings.Contains(text, " (1000 characters) ") {
		t.Errorf("%s: %v", got, err)
	}
}
