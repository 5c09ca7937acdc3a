package scenario

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRate(t *testing.T) {
	for _, test := range []struct {
		rate, recovery string
		perHour, hours float64
	}{
		{"5%/year", "4h", 0.05 / 8760, 4},
		{"0.2/year", "90m", 0.2 / 8760, 1.5},
		{"1/month", "2d", 1.0 / 730, 48},
		{"0.01/day", "1d12h", 0.01 / 24, 36},
		{"3/week", "1.5h", 3.0 / 168, 1.5},
		{"2/hour", "1h30m", 2, 1.5},
		{"250%/year", "0d4h", 2.5 / 8760, 4},
		{"1e-3/year", "30s", 1e-3 / 8760, 1.0 / 120},
		{"0/year", "4h", 0, 4},
	} {
		rate := Rate{test.rate, test.recovery}
		perHour, err := rate.PerHour()
		if err != nil {
			t.Errorf("%q: %v", test.rate, err)
		}
		hours, err := rate.Hours()
		if err != nil {
			t.Errorf("%q: %v", test.recovery, err)
		}
		share := test.perHour * test.hours / (1 + test.perHour*test.hours)
		got, want := []float64{perHour, hours, rate.Unavailability()}, []float64{test.perHour, test.hours, share}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", rate, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	ok := Rate{"5%/year", "4h"}
	for _, test := range []struct {
		name  string
		rates Rates
		want  []string // the beginnings of the errors
	}{
		{"short words and keys", Rates{"node": ok, "topology.kubernetes.io/zone": ok, "region": ok, "rack": ok}, nil},
		{"none", nil, []string{"risk.rates: Required value: give the rate of at least one level"}},
		{
			"no values", Rates{"node": {}},
			[]string{"risk.rates[node].rate: Required value: must be number/unit", "risk.rates[node].recovery: Required value: must be a duration"},
		},
		{
			"everything at once", Rates{"node": {"5%", "4"}, "zone": {"-1/year", "0h"}, "a b": ok},
			[]string{
				`risk.rates[a b]: Invalid value: "a b": must be node, zone, region or the key of a node label`,
				`risk.rates[node].rate: Invalid value: "5%": must be number/unit`,
				`risk.rates[node].recovery: Invalid value: "4": must be a duration`,
				`risk.rates[zone].rate: Invalid value: "-1/year": must be number/unit`,
				`risk.rates[zone].recovery: Invalid value: "0h": must be more than 0`,
			},
		},
		{
			"the same level twice", Rates{"zone": ok, "topology.kubernetes.io/zone": ok},
			[]string{"risk.rates[zone]: Forbidden: is the same level as topology.kubernetes.io/zone"},
		},
		{"no such unit", Rates{"node": {"1/decade", "4h"}}, []string{`risk.rates[node].rate: Invalid value: "1/decade"`}},
		{"no number", Rates{"node": {"NaN/year", "4h"}}, []string{`risk.rates[node].rate: Invalid value: "NaN/year"`}},
		{"too much", Rates{"node": {"1e999/year", "4h"}}, []string{`risk.rates[node].rate: Invalid value: "1e999/year": is more than can be counted`}},
		{"negative recovery", Rates{"node": {"1/year", "-4h"}}, []string{`risk.rates[node].recovery: Invalid value: "-4h"`}},
		{"days at the end", Rates{"node": {"1/year", "4h2d"}}, []string{`risk.rates[node].recovery: Invalid value: "4h2d"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			errs := test.rates.Validate(field.NewPath("risk", "rates"))
			if len(errs) != len(test.want) {
				t.Fatalf("got %d errors, want %d: %v", len(errs), len(test.want), errs)
			}
			for i, err := range errs {
				if !strings.HasPrefix(err.Error(), test.want[i]) {
					t.Errorf("got  %s\nwant %s…", err, test.want[i])
				}
			}
		})
	}
}

// The unavailability of any valid rate is a share of time, and never a number that spoils all others.
func FuzzRate(f *testing.F) {
	for _, seed := range [][2]string{
		{"5%/year", "4h"}, {"1e308/hour", "999999d2562047h"}, {"0/year", "1ns"}, {"1e-300/year", "1ns"}, {"Inf/day", "1h"}, {"1/month", "d"}, {"", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, recovery string) {
		rate := Rate{text, recovery}
		if len((Rates{"node": rate}).Validate(nil)) > 0 {
			return
		}
		if u := rate.Unavailability(); math.IsNaN(u) || u < 0 || u > 1 {
			t.Errorf("%q, %q: unavailability %v", text, recovery, u)
		}
	})
}
