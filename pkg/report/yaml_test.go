package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/report"
)

// The pieces are the YAML that the library writes of the whole, with the same line breaks.
func TestYAMLPieces(t *testing.T) {
	type object = map[string]any
	long := strings.Repeat("a message that is broken by its width ", 5)
	pod := object{"name": "web-0", "message": long, "reasons": []any{object{"plugin": "NodeName"}, "yes", nil, 1e21}, "zone": "1e3"}
	pods := slices.Repeat([]any{pod, long, []any{1, []any{}, object{}}}, 1000)
	byNode := object{}
	for i := range 5000 {
		byNode[fmt.Sprintf("worker-%d", i)] = i
	}
	step := object{"action": long, "pods": pods, "notes": []any{}, "summary": object{"pods": 3000, "whole": object{"pods": pods}, "zero": 0}, "why": "x"}
	for name, model := range map[string]any{
		"small":    pod,
		"list":     pods,
		"first":    object{"steps": []any{object{"pods": pods, "why": "not"}, object{"pods": pods}}},
		"steps":    object{"apiVersion": "v1", "steps": []any{object{"name": "a"}, step, object{"name": "b"}, step, pod}},
		"names":    object{"nodes": byNode, "steps": []any{byNode, object{"a": byNode, "b": byNode}}},
		"text":     object{"steps": []any{object{"a": strings.Repeat("x y\n", 1<<16), "b": pods}}},
		"in lists": object{"a": []any{pods, []any{pods, pods}, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := report.EncodeJSON(model)
			if err != nil {
				t.Fatal(err)
			}
			want, err := yaml.JSONToYAML(data)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := (report.Formats[any](report.ModelFormats[any]())).Write(&got, &model, "yaml", report.Options{}); err != nil {
				t.Fatal(err)
			}
			if string(want) != got.String() {
				t.Errorf("-whole +pieces:\n%.2000s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")))
			}
		})
	}
}
