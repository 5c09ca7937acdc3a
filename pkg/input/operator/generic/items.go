package generic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxObjects is the maximum number of objects that a shape makes of a resource or of one of its items.
const maxObjects = 10_000

// items returns a copy of the resource for each object that the shape makes of it. If the shape has Each, a copy has the fields item and
// key; if it has Times, a copy has the field index.
func (s *Shape) items(resource map[string]any) ([]map[string]any, error) {
	all := []map[string]any{resource}
	if s.Each != "" {
		value, _ := findFirstValue(resource, s.Each)
		all = nil
		switch v := value.(type) {
		case []any:
			for i, item := range v {
				all = append(all, withFields(resource, "item", item, "key", strconv.Itoa(i)))
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				all = append(all, withFields(resource, "item", v[key], "key", strings.ToLower(key)))
			}
		case nil:
		default:
			return nil, fmt.Errorf("%s: Invalid value: %v: a list or an object is wanted", s.Each, value)
		}
	}
	if s.Times == "" {
		return all, nil
	}
	var times []map[string]any
	for _, one := range all {
		value, _ := findFirstValue(one, s.Times)
		number, isNumber := value.(float64)
		if !isNumber || number < 0 || number > maxObjects || number != float64(int(number)) {
			return nil, fmt.Errorf("%s: Invalid value: %v: a whole number from 0 to %d is wanted", s.Times, value, maxObjects)
		}
		for i := range int(number) {
			times = append(times, withFields(one, "index", strconv.Itoa(i)))
		}
	}
	return times, nil
}

// withFields returns a copy of the resource with more fields, given as name and value in turn.
func withFields(resource map[string]any, fields ...any) map[string]any {
	more := maps.Clone(resource)
	for i := 0; i < len(fields); i += 2 {
		more[fields[i].(string)] = fields[i+1]
	}
	return more
}

// findFirstValue returns the value of the first of several paths, separated by commas, that has one. A path may be more than a path of fields. A
// whole number stands for itself. "spec.size - 1" calculates with two paths or a path and a number; if only the second one is missing, the
// first one is the value. "spec.tasks.*.replicas" is the sum over all items of a list, in which an item without the field counts 1.
func findFirstValue(resource map[string]any, paths string) (any, bool) {
	for _, path := range strings.Split(paths, ", ") {
		if number, err := strconv.Atoi(path); err == nil {
			return float64(number), true
		}
		parts := strings.Fields(path)
		if len(parts) == 3 && slices.Contains([]string{"+", "-", "*"}, parts[1]) {
			if value, found := calculate(resource, parts[0], parts[1], parts[2]); found {
				return value, true
			}
			continue
		}
		if list, field, sum := strings.Cut(path, ".*."); sum {
			if value, found := sumField(resource, list, field); found {
				return value, true
			}
			continue
		}
		if value, found := findValue(resource, path); found {
			return value, true
		}
	}
	return nil, false
}

// calculate returns the result of an operator on the values of two paths.
func calculate(resource map[string]any, path, operator, other string) (any, bool) {
	value, _ := findFirstValue(resource, path)
	left, found := value.(float64)
	if !found {
		return nil, false
	}
	value, _ = findFirstValue(resource, other)
	right, counts := value.(float64)
	switch {
	case !counts:
		return left, true
	case operator == "*":
		return left * right, true
	case operator == "+":
		return left + right, true
	}
	return left - right, true
}

// sumField returns the sum of a field over the items of a list; an item without the field counts 1.
func sumField(resource map[string]any, path, field string) (any, bool) {
	value, _ := findValue(resource, path)
	items, _ := value.([]any)
	sum := 0.0
	for _, item := range items {
		number := 1.0
		if value, found := findValue(item, field); found {
			number, _ = value.(float64)
		}
		sum += number
	}
	return sum, len(items) > 0
}

// jsonText returns a value as the inside of a JSON string: a number without an exponent, and anything else as Go prints it.
func jsonText(value any) string {
	text := fmt.Sprint(value)
	if number, is := value.(float64); is && number == float64(int64(number)) {
		text = strconv.FormatInt(int64(number), 10)
	}
	quoted, _ := json.Marshal(text) // a JSON string
	return string(quoted[1 : len(quoted)-1])
}
