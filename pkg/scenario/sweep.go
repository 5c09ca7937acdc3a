package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/list"
)

// Sweep is a change to the scenario for many values. Give either parameters or points.
type Sweep struct {
	// Parameters make a grid: each combination of their values is a point. The last parameter varies fastest.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Points lists points one by one, each with a value for every name. All have the same names.
	Points []map[string]Scalar `json:"points,omitempty"`
	// Variant is a variant without a name, in which $(NAME) stands for the point's value of that name: by itself it becomes the value, and
	// within a text the value as text. $$(NAME) stays $(NAME).
	Variant runtime.RawExtension `json:"variant"`
}

// Parameter is a name and its values. Give either values or range.
type Parameter struct {
	// Name is the name in $(NAME) in the variant, and on the report.
	Name string `json:"name"`
	// Values lists the values, no two of them equal.
	Values []Scalar `json:"values,omitempty"`
	// Range gives whole numbers that count up.
	Range *Range `json:"range,omitempty"`
}

// Range is a series of whole numbers that count up.
type Range struct {
	// From is the first number.
	From int `json:"from"`
	// To is the upper bound of the numbers.
	To int `json:"to"`
	// Step is the difference between one number and the next, 1 or more. Default: 1.
	Step *int `json:"step,omitempty" jsonschema:"minimum=1"`
}

// Scalar is a text, a number or a truth value: a string, a json.Number or a bool.
type Scalar struct{ Value any }

// UnmarshalJSON accepts a text, a number, or true or false.
func (s *Scalar) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&s.Value); err != nil {
		return err
	}
	switch s.Value.(type) {
	case string, json.Number, bool:
		return nil
	}
	return fmt.Errorf("not %s", s.Wanted())
}

// Wanted describes the values that a scalar can have.
func (*Scalar) Wanted() string { return "a text, a number, or true or false" }

// MarshalJSON writes the value as it was read.
func (s Scalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.Value) }

// String returns the value as text.
func (s Scalar) String() string { return fmt.Sprint(s.Value) }

// Float returns the value if it is a number.
func (s Scalar) Float() (float64, bool) {
	n, ok := s.Value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// Point is one point of a sweep.
type Point struct {
	// Values are the values of the point, in the order of Scenario.Parameters.
	Values []Scalar
	LoadedVariant
	// Change is the sweep's variant with the values filled in, as JSON.
	Change []byte
}

// MaxPoints is the largest number of points of a sweep.
const MaxPoints = 100_000

// parameterName matches the names that $(NAME) takes, as in the environment of a container.
var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// ValidateSweep reports problems of the sweep that do not depend on objects.
func ValidateSweep(p *Problems, sweep *Sweep) {
	if sweep == nil {
		return
	}
	path := field.NewPath("sweep")
	if (len(sweep.Parameters) > 0) == (len(sweep.Points) > 0) {
		p.Add(path, "give either parameters or points")
	}
	points, names := 1, map[string]bool{}
	for i := range sweep.Parameters {
		parameter, path := &sweep.Parameters[i], path.Child("parameters").Index(i)
		if names[parameter.Name] {
			p.Add(path.Child("name"), "%q is listed twice", parameter.Name)
		}
		names[parameter.Name] = true
		validateParameterName(p, path.Child("name"), parameter.Name)
		if (len(parameter.Values) > 0) == (parameter.Range != nil) {
			p.Add(path, "give either values or range")
		} else if r := parameter.Range; r != nil && r.countValues() == 0 {
			p.Add(path.Child("range"), "from %d to %d in steps of %d has no values; give a larger to, and a step of 1 or more", r.From, r.To, r.stepSize())
		}
		listed := map[Scalar]bool{}
		for j, value := range parameter.Values {
			if listed[value] {
				p.Add(path.Child("values").Index(j), "%q is listed twice", value)
			}
			listed[value] = true
		}
		if points *= max(1, parameter.countValues()); points > MaxPoints {
			p.Add(path, "makes more than %d points; give fewer values", MaxPoints)
			break
		}
	}
	for i, point := range sweep.Points {
		for _, name := range slices.Sorted(maps.Keys(point)) {
			validateParameterName(p, path.Child("points").Index(i).Key(name), name)
		}
		if first, these := slices.Sorted(maps.Keys(sweep.Points[0])), slices.Sorted(maps.Keys(point)); !slices.Equal(first, these) {
			p.Add(path.Child("points").Index(i), "has %s, and the first point has %s; give every point the same names",
				strings.Join(these, ", "), strings.Join(first, ", "))
		}
	}
	if len(sweep.Variant.Raw) == 0 {
		p.Add(path.Child("variant"), "is missing; give the change that makes a point, with $(NAME) in it")
	}
}

func validateParameterName(p *Problems, path *field.Path, name string) {
	if !parameterName.MatchString(name) {
		p.Add(path, "%q is not a parameter name; use letters, digits, _, . and -, and begin with a letter", name)
	}
}

// countValues returns the number of values.
func (p *Parameter) countValues() int {
	if p.Range == nil {
		return len(p.Values)
	}
	return p.Range.countValues()
}

// countValues returns the number of numbers, or MaxPoints + 1 if there are more; 0 if the range is empty.
func (r *Range) countValues() int {
	if r.To < r.From || r.stepSize() < 1 {
		return 0
	}
	// The difference of two ints always fits into a uint64, but not into an int.
	return int(min((uint64(r.To)-uint64(r.From))/uint64(r.stepSize()), MaxPoints)) + 1
}

func (r *Range) stepSize() int { return ptr.Deref(r.Step, 1) }

func (p *Parameter) listValues() []Scalar {
	if p.Range == nil {
		return p.Values
	}
	var all []Scalar
	for i := range p.Range.countValues() {
		all = append(all, Scalar{json.Number(fmt.Sprint(p.Range.From + i*p.Range.stepSize()))})
	}
	return all
}

// Grid returns the names, and the values of each point in the same order.
func (s *Sweep) Grid() (names []string, points [][]Scalar) {
	if len(s.Points) > 0 {
		names = slices.Sorted(maps.Keys(s.Points[0]))
		for _, point := range s.Points {
			values := list.Map(names, func(name string) Scalar { return point[name] })
			points = append(points, values)
		}
		return names, points
	}
	points = [][]Scalar{nil}
	for i := range s.Parameters {
		names = append(names, s.Parameters[i].Name)
		var longer [][]Scalar
		for _, point := range points {
			for _, value := range s.Parameters[i].listValues() {
				longer = append(longer, append(slices.Clip(point), value))
			}
		}
		points = longer
	}
	return names, points
}
