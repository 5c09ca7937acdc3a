package generic

import (
	"fmt"
	"strconv"
)

// putValue returns the value with given at the path, and whether that place exists. It creates missing fields, but no list items. If keep is
// set, it merges given over the value that is there.
func putValue(value any, path []string, given any, keep bool) (any, bool) {
	if len(path) == 0 {
		if keep {
			given = mergeValues(value, given)
		}
		return given, true
	}
	switch v := value.(type) {
	case nil:
		if _, err := strconv.Atoi(path[0]); err == nil {
			return value, false
		}
		inner, ok := putValue(nil, path[1:], given, keep)
		if !ok {
			return value, false
		}
		return map[string]any{path[0]: inner}, true
	case map[string]any:
		inner, ok := putValue(v[path[0]], path[1:], given, keep)
		if ok {
			v[path[0]] = inner
		}
		return v, ok
	case []any:
		i, err := listIndex(path[0], len(v))
		if err != nil {
			return value, false
		}
		inner, ok := putValue(v[i], path[1:], given, keep)
		if ok {
			v[i] = inner
		}
		return v, ok
	}
	return value, false
}

func listIndex(step string, length int) (int, error) {
	i, err := strconv.Atoi(step)
	if err == nil && (i < 0 || i >= length) {
		err = fmt.Errorf("%d is not a position in a list of %d", i, length)
	}
	return i, err
}

// mergeValues merges a value over another one: objects field by field, where null removes a field; lists of named objects by name; other lists by
// appending.
func mergeValues(base, over any) any {
	switch o := over.(type) {
	case map[string]any:
		b, ok := base.(map[string]any)
		if !ok {
			b = map[string]any{}
		}
		for key, value := range o {
			if value == nil {
				delete(b, key)
			} else {
				b[key] = mergeValues(b[key], value)
			}
		}
		return b
	case []any:
		b, _ := base.([]any)
		for _, item := range o {
			if at := indexByName(b, item); at >= 0 {
				b[at] = mergeValues(b[at], item)
			} else {
				b = append(b, item)
			}
		}
		return b
	}
	return over
}

// indexByName returns the index of the item with the same name, or -1.
func indexByName(list []any, item any) int {
	fields, _ := item.(map[string]any)
	for i := range list {
		if other, _ := list[i].(map[string]any); fields["name"] != nil && other["name"] == fields["name"] {
			return i
		}
	}
	return -1
}
