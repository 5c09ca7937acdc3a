package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

func TestHeads(t *testing.T) {
	tests := []struct{ keys, want []string }{
		{[]string{Region, Zone}, []string{"REGION", "ZONE"}},
		{[]string{"example.com/rack", "pool"}, []string{"RACK", "POOL"}},
		{[]string{Zone, "failure-domain.beta.kubernetes.io/zone"}, []string{"TOPOLOGY.KUBERNETES.IO/ZONE", "FAILURE-DOMAIN.BETA.KUBERNETES.IO/ZONE"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Heads(test.keys)); diff != "" {
			t.Errorf("%v: %s", test.keys, diff)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.001: "<1%", 0.01: "1%", 2. / 3: "67%", 0.99: "99%", 0.999: ">99%", 1: "100%"} {
		if got := Percent(share); got != want {
			t.Errorf("percent(%v) is %s, want %s", share, got, want)
		}
	}
}
