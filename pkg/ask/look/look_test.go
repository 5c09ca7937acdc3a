package look

import "testing"

// The only region takes every pod, which is no news if a zone can fail, too. If nothing else can fail, it counts.
func TestWorst(t *testing.T) {
	region, zone := Level{Key: "region", Whole: true, Domain: "r", NotBack: 40}, Level{Key: "zone", Domain: "b", NotBack: 3}
	for _, test := range []struct {
		levels []Level
		want   string
	}{
		{[]Level{region, zone}, "b"},
		{[]Level{region, {Key: "zone"}}, ""},
		{[]Level{region, {Key: "node", Whole: true, Domain: "n", NotBack: 40}}, "r"},
		{nil, ""},
	} {
		look := Look{Levels: test.levels}
		if got := look.Worst().Domain; got != test.want {
			t.Errorf("of %v the worst is %q, want %q", test.levels, got, test.want)
		}
	}
}
