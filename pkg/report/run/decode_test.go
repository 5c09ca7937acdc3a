package run

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/report"
)

func TestDecodeRoundTrip(t *testing.T) {
	reports := fixtures(t)
	reports["large"] = large()
	reports["hostile"] = &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Seed: math.MaxUint64, Scenario: "yes", Ties: "0x1f", Version: "1.10",
			Description: " \ttwo\r\n\nlines \x1b[0m\u0085\u2028\ufeff\x00\x7f\u009b2J\ufffe\U000e0001 ",
			Notes:       []string{"", "null", "~", "- a", "a: b # c", "1e3", "2025-01-01", "'", `"`, "\n", "---", "<&>", "東京"},
		}}
	for name, r := range reports {
		for _, format := range []string{"json", "yaml"} {
			data := write(t, r, format, report.Options{})
			got, err := Decode(name, []byte(data))
			if err != nil {
				t.Errorf("%s %s: %v", name, format, err)
				continue
			}
			if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, format, diff)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	const head = `"apiVersion":"faultline/v1alpha1","kind":"Report"`
	tests := map[string]struct{ data, want string }{
		"nothing":      {"", `r: nothing is in it`},
		"null":         {"null", `r: nothing is in it`},
		"list":         {"[]", "r: an object is wanted at the top, and this is a list"},
		"version":      {`{"apiVersion":"faultline/v2","kind":"Report"}`, `r: apiVersion "faultline/v2" and kind "Report"; give a report of apiVersion faultline/v1alpha1 and kind Report`},
		"kind":         {"apiVersion: faultline/v1alpha1\nkind: Scenario\n", `r: apiVersion "faultline/v1alpha1" and kind "Scenario"; give a report of apiVersion faultline/v1alpha1 and kind Report`},
		"unknown":      {"{" + head + `,"steps":[{"nmae":"a","summary":{"pod":1}}]}`, "r: unknown field \"steps[0].nmae\"; did you mean \"name\"?\nr: unknown field \"steps[0].summary.pod\"; did you mean \"pods\"?"},
		"duplicate":    {"{" + head + `,"seed":1,"seed":2}`, `r: duplicate field "seed"`},
		"type":         {"{" + head + `,"seed":-1}`, "r: seed: Invalid value: -1: is too small; the least is 0"},
		"no steps":     {"{" + head + "}", "r: steps: is missing; write the report again"},
		"null steps":   {"{" + head + `,"steps":null}`, "r: steps: is missing; write the report again"},
		"null step":    {"{" + head + `,"steps":[null]}`, "r: steps[0]: nothing is in it; write the report again"},
		"no name":      {"{" + head + `,"steps":[{"action":"a"}]}`, "r: steps[0].name: is missing; write the report again"},
		"a step twice": {"{" + head + `,"steps":[{"name":"a"},{"name":"b"},{"name":"a"}]}`, `r: steps[2].name: Invalid value: "a": steps[0] has the same name; write the report again`},
		"nulls": {"{" + head + `,"nodes":[null],"steps":[{"name":"a","workloads":[null],"pods":[null,{"namespace":"n"}]}]}`,
			"r: nodes[0]: nothing is in it; write the report again\nr: steps[0].workloads[0]: nothing is in it; write the report again\nr: steps[0].pods[0]: nothing is in it; write the report again"},
		"no names": {"{" + head + `,"nodes":[{"cpu":1}],"steps":[{"name":"a","workloads":[{"kind":"Pod"}],"pods":[{"namespace":"n"}]}]}`,
			"r: nodes[0].name: is missing; write the report again\nr: steps[0].workloads[0].name: is missing; write the report again\nr: steps[0].pods[0].name: is missing; write the report again"},
		"negative": {"{" + head + `,"steps":[{"name":"a","summary":{"pods":-5},"workloads":[{"name":"w","desired":-1}]}]}`,
			"r: steps[0].summary.pods: Invalid value: -5: must not be negative; write the report again\nr: steps[0].workloads[0].desired: Invalid value: -1: must not be negative; write the report again"},
		"negative node": {"{" + head + `,"nodes":[{"name":"n","memory":-1}],"steps":[]}`, "r: nodes[0]: cpu, memory and pods must not be negative; write the report again"},
		"too many":      {"{" + head + `,"steps":[{"name":"a","summary":{"pods":9223372036854775807}}]}`, "r: steps[0].summary.pods: Invalid value: 9223372036854775807: must be at most 2147483647; write the report again"},
		"no sum":        {"{" + head + `,"steps":[{"name":"a","summary":{"pods":5,"running":3,"notReady":1}}]}`, "r: steps[0].summary.pods: Invalid value: 5: must be the sum of running, pending and notReady, which is 4; write the report again"},
		"another node": {"{" + head + `,"nodes":[{"name":"n1"}],"steps":[{"name":"a","pods":[{"name":"p","node":"n2"}]},{"name":"b","nodes":[{"name":"n2"}],"pods":[{"name":"p","node":"n2"}]}]}`,
			`r: steps[0].pods[0].node: Invalid value: "n2": no such node is among nodes; write the report again`},
		"list of text": {"{" + head + `,"steps":[{"name":"a","pods":"x"}]}`, `r: steps[0].pods: Invalid value: "x": a string where a list is wanted`},
		"UTF-16":       {"{\x00\"\x00", "r: byte 2 is 0, so this is no text; give YAML or JSON in UTF-8"},
		"case":         {"{" + head + `,"Seed":1}`, `r: unknown field "Seed"; did you mean "seed"?`},
		"cut":          {"{" + head, "r: line 1: not valid JSON: unexpected EOF"},
		"two in JSON":  {"{" + head + "}{}", "r: 2 documents where one is wanted; give each a file of its own"},
		"two in YAML":  {"kind: Report\n---\nkind: Report\n", "r: 2 documents where one is wanted; give each a file of its own"},
		"twice a key":  {"kind: Report\nkind: Report\nseed: 1\nseed: 2\n", "r: line 2: not valid YAML: key \"kind\" already set in map\nr: line 4: not valid YAML: key \"seed\" already set in map"},
		"YAML grammar": {"kind: [", "r: line 1: not valid YAML: did not find expected node content"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("r", []byte(test.data))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A report that Decode accepts can be rendered in every format, and comes back from json and yaml unchanged.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("apiVersion: faultline/v1alpha1\nkind: Report\nsteps:\n- name: \"\\e[0m\"\n  pods: [{name: a}]\n"))
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"Report","steps":[{"workloads":[{"kind":"Pod","domains":[{"empty":-1}]},{"kind":"Pod"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode("fuzz", data)
		if err != nil {
			return
		}
		for _, format := range Formats.Names() {
			for _, opts := range []report.Options{{}, {Quiet: true}, {All: true, Color: true}} {
				var out bytes.Buffer
				if err := Formats.Write(&out, r, format, opts); err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				if format != "json" && format != "yaml" {
					continue
				}
				again, err := Decode("again", out.Bytes())
				if err != nil {
					t.Fatalf("%s does not decode: %v\n%s", format, err, out.Bytes())
				}
				if diff := cmp.Diff(write(t, r, "json", report.Options{}), write(t, again, "json", report.Options{})); diff != "" {
					t.Fatalf("%s changes the report:\n%s", format, diff)
				}
			}
		}
	})
}
