package manifest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

func TestUnmarshalSaysWhichNumbersFit(t *testing.T) {
	for text, want := range map[string]string{
		"seed: -1": "file: seed: Invalid value: -1: is too small; the least is 0",
		// The YAML parser reads such a number as a float64.
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

// The suggestion is a sibling with a similar name, or the only field with the same name one level up or down. A template and its spec count
// as one level.
func TestDidYouMeanNearby(t *testing.T) {
	for path, want := range map[string]string{
		"spec.template.spec.afinity":                    "affinity",
		"spec.volumes":                                  "spec.template.spec.volumes",
		"spec.template.spec.replicas":                   "spec.replicas",
		"spec.template.selector":                        "spec.selector",
		"spec.template.spec.imagePullPolicy":            "spec.template.spec.containers[].imagePullPolicy",
		"spec.template.spec.containers[0].nodeSelector": "spec.template.spec.nodeSelector",
		"replicas":     "spec.replicas",
		"nodeSelector": "", // two levels away
		"spec.template.spec.containers[0].replicas":          "",
		"spec.template.spec.volumes[1].storageos.pool":       "", // a field of rbd
		"spec.template.spec.volumes[1].fsType":               "", // many volume sources have it
		"spec.template.spec.volumes[1].emptyDir.medium.pool": "",
	} {
		if want != "" {
			want = "; did you mean \"" + want + "\"?"
		}
		if got := suggestField(reflect.TypeFor[*appsv1.Deployment](), path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A value is shown as it stands in the file.
func TestProblemShowsValues(t *testing.T) {
	for text, want := range map[string]string{
		`"\u003cADD LUN ID Here\u003e"`: `"<ADD LUN ID Here>"`,
		`{"a":"b \u0026 c"}`:            `{"a":"b & c"}`,
		`"a \\u003c b"`:                 `"a \\u003c b"`, // the text itself has a backslash
		"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field .nodeRegistration.taints of type []v1.Taint": "nodeRegistration.taints: a number where something else is wanted",
		"json: cannot unmarshal bool into Go value of type map[string]string; leave it out":                                                            "true or false where something else is wanted; leave it out",
		"line 9: cannot unmarshal !!seq into v1alpha4.NodeRole; line 10: cannot unmarshal !!int `5` into map[string]string":                            "line 9: a list where something else is wanted; line 10: a number where something else is wanted",
	} {
		if got := RewordProblem(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
