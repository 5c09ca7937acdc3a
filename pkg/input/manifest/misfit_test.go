package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnmarshalSaysWhichNumbersFit(t *testing.T) {
	for text, want := range map[string]string{
		"seed: -1": "file: seed: Invalid value: -1: is too small; the least is 0",
		// YAML keeps of such a number what a float64 holds.
		"seed: 18446744073709551616":   "file: seed: Invalid value: 18446744073709552000: is too large; the most is 18446744073709551615",
		"seed: 1e21":                   "file: seed: Invalid value: 1e+21: is too large; the most is 18446744073709551615",
		"replicas: -1e300":             "file: replicas: Invalid value: -1e+300: is too small; the least is -2147483648",
		"seed: 1.5":                    "file: seed: Invalid value: 1.5: a number where a whole number is wanted",
		"seed: one":                    `file: seed: Invalid value: "one": a string where a whole number is wanted`,
		"replicas: 3000000000":         "file: replicas: Invalid value: 3000000000: is too large; the most is 2147483647",
		"replicas: -3000000000":        "file: replicas: Invalid value: -3000000000: is too small; the least is -2147483648",
		"pending: 9223372036854775808": "file: pending: Invalid value: 9223372036854775808: is too large; the most is 9223372036854775807",
		"weights: [1, 2, 3000000000]":  "file: weights[2]: Invalid value: 3000000000: is too large; the most is 2147483647",
		"rate: fast":                   `file: rate: Invalid value: "fast": a string where a number is wanted`,
		"{seed: 18446744073709551615, replicas: -2147483648, pending: 9223372036854775807}": "",
	} {
		var into struct {
			Seed     *uint64 `json:"seed"`
			Replicas int32   `json:"replicas"`
			Pending  int     `json:"pending"`
			Weights  []int32 `json:"weights"`
			Rate     float64 `json:"rate"`
		}
		got := ""
		if err := Unmarshal("file", []byte(text), &into); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
