package loader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// maxPointProblems is the number of problems after which no more points of a sweep are read: most points have the same problems.
const maxPointProblems = 10

// readSweep reads the points of the sweep.
func (v *variantReader) readSweep(sweep *scenario.Sweep) {
	if sweep == nil {
		return
	}
	names, points := sweep.Grid()
	if err := scenario.CheckLimit("variants and points of a sweep", len(v.base.Variants)+len(points), v.opts.Limits.Versions); err != nil {
		v.stop(err)
		return
	}
	v.base.Parameters = names
	path := field.NewPath("sweep", "variant")
	var template any
	decoder := json.NewDecoder(bytes.NewReader(sweep.Variant.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&template); err != nil {
		v.problems.Add(path, "%s", err)
		return
	}
	before := v.problems.Len()
	used := map[string]bool{}
	fillPlaceholders(template, func(name string) (scenario.Scalar, bool) {
		if !used[name] && !slices.Contains(names, name) {
			v.problems.Add(path, "$(%s) is not a parameter; %s", name, scenario.ListChoices(name, names))
		}
		used[name] = true
		return scenario.Scalar{}, false
	})
	for _, name := range names {
		if !used[name] {
			v.problems.Add(path, "does not use $(%s), so %s would vary nothing", name, name)
		}
	}
	if v.problems.Len() > before {
		return
	}
	for i := 0; i < len(points) && v.problems.Len() < before+maxPointProblems && !v.ended(); i++ {
		point, p := v.derivePoint(template, i, points[i])
		v.base.Points = append(v.base.Points, *point)
		v.problems.AddDerived(p)
	}
}

// derivePoint derives the scenario of the i-th point.
func (v *variantReader) derivePoint(template any, i int, values []scenario.Scalar) (*scenario.Point, *scenario.Problems) {
	var words []string
	for j, name := range v.base.Parameters {
		words = append(words, name+"="+values[j].String())
	}
	point := &scenario.Point{Values: values}
	point.Name = strings.Join(words, ",")
	p := &scenario.Problems{File: fmt.Sprintf("%s: sweep point %d (%s)", v.problems.File, i+1, point.Name), Flags: v.problems.Flags}
	var err error
	point.Change, err = json.Marshal(fillPlaceholders(template, func(name string) (scenario.Scalar, bool) {
		return values[slices.Index(v.base.Parameters, name)], true
	}))
	if err != nil {
		p.Add(nil, "%s", err)
		return point, p
	}
	var change scenario.Variant
	if err := manifest.Unmarshal(p.File, point.Change, &change); err != nil {
		p.AddErrors(err)
		return point, p
	}
	if change.Name != "" {
		p.Add(field.NewPath("name"), "points have no name of their own; leave it out")
	}
	change.Name = point.Name
	if scenario.ValidateVariant(p, nil, &change, v.patchesResource); p.Len() == 0 {
		point.LoadedVariant = *v.deriveVariant(p, &change)
	}
	return point, p
}

// placeholder is $(NAME), or $$(NAME), which stands for $(NAME) itself.
var placeholder = regexp.MustCompile(`\$?\$\(([^()]*)\)`)

// fillPlaceholders returns the value with $(NAME) replaced by what lookup finds. A name that lookup does not find stays.
func fillPlaceholders(value any, lookup func(name string) (scenario.Scalar, bool)) any {
	switch v := value.(type) {
	case map[string]any:
		filled := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			filled[fillTextPlaceholders(key, lookup)] = fillPlaceholders(v[key], lookup)
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i := range v {
			filled[i] = fillPlaceholders(v[i], lookup)
		}
		return filled
	case string:
		if match := placeholder.FindStringSubmatch(v); match != nil && match[0] == v && !strings.HasPrefix(v, "$$") {
			if scalar, found := lookup(match[1]); found {
				return scalar.Value
			}
			return v
		}
		return fillTextPlaceholders(v, lookup)
	}
	return value
}

// fillTextPlaceholders replaces $(NAME) in a text, as [fillPlaceholders] does.
func fillTextPlaceholders(text string, lookup func(name string) (scenario.Scalar, bool)) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		if scalar, found := lookup(match[2 : len(match)-1]); found {
			return scalar.String()
		}
		return match
	})
}
