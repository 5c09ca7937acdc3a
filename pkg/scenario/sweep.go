package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Sweep is a change to the scenario for many values. Give either parameters or points.
type Sweep struct {
	// Parameters make a grid: each combination of their values is a point. The last parameter varies first.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Points lists points one by one, each with a value for every name. All have the same names.
	Points []map[string]Scalar `json:"points,omitempty"`
	// Variant is a variant without a name, in which $(NAME) stands for the point's value of that name: by itself for the value as it
	// is, and within a text for the value as text. $$(NAME) stays $(NAME).
	Variant runtime.RawExtension `json:"variant"`
}

// Parameter is a name and its values. Give either values or range.
type Parameter struct {
	// Name is for $(NAME) in the variant, and on the report.
	Name string `json:"name"`
	// Values lists the values, no two of them equal.
	Values []Scalar `json:"values,omitempty"`
	// Range counts up.
	Range *Range `json:"range,omitempty"`
}

// Range is whole numbers that count up.
type Range struct {
	// From is the first number.
	From int `json:"from"`
	// To is the number that none exceeds.
	To int `json:"to"`
	// Step is the difference of one number and the next, 1 or more. Default: 1.
	Step *int `json:"step,omitempty" jsonschema:"minimum=1"`
}

// Scalar is a text, a number or a truth value.
type Scalar struct{ value any }

// NewScalar returns the scalar of a string, a json.Number or a bool.
func NewScalar(value any) Scalar { return Scalar{value} }

// UnmarshalJSON accepts a text, a number, or true or false.
func (s *Scalar) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&s.value); err != nil {
		return err
	}
	switch s.value.(type) {
	case string, json.Number, bool:
		return nil
	}
	return fmt.Errorf("%s is neither a text nor a number nor true or false", data)
}

// MarshalJSON writes it as it was read.
func (s Scalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

// String is the scalar as text.
func (s Scalar) String() string { return fmt.Sprint(s.value) }

// Float is its value if it is a number.
func (s Scalar) Float() (float64, bool) {
	n, ok := s.value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// Point is one point of a sweep.
type Point struct {
	// Values are the point's, in the order of Scenario.Parameters.
	Values []Scalar
	LoadedVariant
	// Change is the variant with the values in it, as JSON.
	Change []byte
}

// MaxPoints is the largest number of points of a sweep.
const MaxPoints = 100_000

// parameterName is what $(NAME) takes, as in the environment of a container.
var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// shapeOfSweep finds what is wrong with the sweep whatever the objects are.
func (l *loader) shapeOfSweep(sweep *Sweep) {
	if sweep == nil {
		return
	}
	path := field.NewPath("sweep")
	if (len(sweep.Parameters) > 0) == (len(sweep.Points) > 0) {
		l.problem(path, "give either parameters or points")
	}
	points := 1
	for i := range sweep.Parameters {
		p, path := &sweep.Parameters[i], path.Child("parameters").Index(i)
		same := func(other Parameter) bool { return other.Name == p.Name }
		if slices.ContainsFunc(sweep.Parameters[:i], same) {
			l.problem(path.Child("name"), "%q is there already", p.Name)
		}
		l.shapeOfName(path.Child("name"), p.Name)
		if (len(p.Values) > 0) == (p.Range != nil) {
			l.problem(path, "give either values or range")
		} else if r := p.Range; r != nil && r.len() == 0 {
			l.problem(path.Child("range"), "from %d to %d in steps of %d is no number; give a larger to, and a step of 1 or more", r.From, r.To, r.step())
		}
		for j, value := range p.Values {
			if slices.Contains(p.Values[:j], value) {
				l.problem(path.Child("values").Index(j), "%q is there already", value)
			}
		}
		if points *= max(1, p.len()); points > MaxPoints {
			l.problem(path, "makes more than %d points; give fewer values", MaxPoints)
			break
		}
	}
	for i, point := range sweep.Points {
		for _, name := range sortedKeys(point) {
			l.shapeOfName(path.Child("points").Index(i).Key(name), name)
		}
		if first, these := sortedKeys(sweep.Points[0]), sortedKeys(point); !slices.Equal(first, these) {
			l.problem(path.Child("points").Index(i), "has %s, and the first point has %s; give every point the same names",
				strings.Join(these, ", "), strings.Join(first, ", "))
		}
	}
	if len(sweep.Variant.Raw) == 0 {
		l.problem(path.Child("variant"), "is missing; give the change that makes a point, with $(NAME) in it")
	}
}

func (l *loader) shapeOfName(path *field.Path, name string) {
	if !parameterName.MatchString(name) {
		l.problem(path, "%q is no name for $(NAME); give letters, digits, _, . and -, a letter first", name)
	}
}

// len is the number of values.
func (p *Parameter) len() int {
	if p.Range == nil {
		return len(p.Values)
	}
	return p.Range.len()
}

// len is how many numbers there are, or more than a sweep may have points; 0 if the range is none.
func (r *Range) len() int {
	if r.To < r.From || r.step() < 1 {
		return 0
	}
	// The difference of two numbers fits into an unsigned one, and not always into one with a sign.
	return int(min((uint64(r.To)-uint64(r.From))/uint64(r.step()), MaxPoints)) + 1
}

func (r *Range) step() int { return ptr.Deref(r.Step, 1) }

func (p *Parameter) values() []Scalar {
	if p.Range == nil {
		return p.Values
	}
	var all []Scalar
	for i := range p.Range.len() {
		all = append(all, Scalar{json.Number(fmt.Sprint(p.Range.From + i*p.Range.step()))})
	}
	return all
}

// grid returns the names, and the values of each point.
func (s *Sweep) grid() (names []string, points [][]Scalar) {
	if len(s.Points) > 0 {
		names = sortedKeys(s.Points[0])
		for _, point := range s.Points {
			var values []Scalar
			for _, name := range names {
				values = append(values, point[name])
			}
			points = append(points, values)
		}
		return names, points
	}
	points = [][]Scalar{nil}
	for i := range s.Parameters {
		names = append(names, s.Parameters[i].Name)
		var longer [][]Scalar
		for _, point := range points {
			for _, value := range s.Parameters[i].values() {
				longer = append(longer, append(slices.Clip(point), value))
			}
		}
		points = longer
	}
	return names, points
}

// sweep reads the points of the sweep, once the scenario itself is known to be right.
func (l *loader) sweep(s *Scenario, sweep *Sweep) {
	names, points := sweep.grid()
	s.Parameters = names
	path := field.NewPath("sweep", "variant")
	var template any
	decoder := json.NewDecoder(bytes.NewReader(sweep.Variant.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&template); err != nil {
		l.problem(path, "%s", err)
		return
	}
	used := map[string]bool{}
	fill(template, func(name string) (Scalar, bool) {
		if !used[name] && !slices.Contains(names, name) {
			l.problem(path, "$(%s) stands for nothing; %s", name, There(name, names))
		}
		used[name] = true
		return Scalar{}, false
	})
	for _, name := range names {
		if !used[name] {
			l.problem(path, "$(%s) is nowhere in it, so that %s would vary nothing", name, name)
		}
	}
	if len(l.problems) > 0 {
		return
	}
	for i, values := range points {
		point, problems := l.point(s, template, i, values)
		s.Points = append(s.Points, *point)
		if l.problems = append(l.problems, problems...); len(l.problems) >= maxPointProblems {
			return
		}
	}
}

// maxPointProblems is after how many problems the further points are not looked at: mostly they have the same.
const maxPointProblems = 10

// point derives the scenario of the i-th point.
func (l *loader) point(s *Scenario, template any, i int, values []Scalar) (*Point, []error) {
	var said []string
	for j, name := range s.Parameters {
		said = append(said, name+"="+values[j].String())
	}
	point := &Point{Values: values}
	point.Name = strings.Join(said, ",")
	v := s.loader
	v.file = fmt.Sprintf("%s: sweep point %d (%s)", l.file, i+1, point.Name)
	var err error
	point.Change, err = json.Marshal(fill(template, func(name string) (Scalar, bool) {
		at := slices.Index(s.Parameters, name)
		return values[at], true
	}))
	if err != nil {
		return point, []error{fmt.Errorf("%s: %w", v.file, err)}
	}
	var change Variant
	if err := manifest.Unmarshal(v.file, point.Change, &change); err != nil {
		return point, []error{err}
	}
	if change.Name != "" {
		v.problem(field.NewPath("name"), "points have no name of their own; leave it out")
	}
	change.Name = point.Name
	if v.shapeOfVariant(nil, &change); len(v.problems) == 0 {
		point.LoadedVariant = *v.vary(s, &change)
	}
	return point, v.problems
}

// placeholder is $(NAME), or $$(NAME), which stands for $(NAME) itself.
var placeholder = regexp.MustCompile(`\$?\$\(([^()]*)\)`)

// fill returns the value with what lookup finds in the places of $(NAME). What it does not find stays.
func fill(value any, lookup func(name string) (Scalar, bool)) any {
	switch v := value.(type) {
	case map[string]any:
		filled := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			filled[fillText(key, lookup)] = fill(v[key], lookup)
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i := range v {
			filled[i] = fill(v[i], lookup)
		}
		return filled
	case string:
		if match := placeholder.FindStringSubmatch(v); match != nil && match[0] == v && !strings.HasPrefix(v, "$$") {
			if scalar, found := lookup(match[1]); found {
				return scalar.value
			}
			return v
		}
		return fillText(v, lookup)
	}
	return value
}

func fillText(text string, lookup func(name string) (Scalar, bool)) string {
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
