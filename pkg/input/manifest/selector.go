package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// maxExpressions limits the expressions of one selector. Upstream sorts all of them anew for each that it adds, for every pod that it schedules:
// with 30,000, Add in https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/labels/selector.go takes
// minutes for three pods. One expression may have any number of values.
const maxExpressions = 5_000

// longSelector returns the problem of an object with more expressions in a selector than maxExpressions, or "".
func (it item) longSelector() string {
	if bytes.Count(it.json, []byte(`"operator"`)) <= maxExpressions {
		return ""
	}
	fields, err := decodeFields(it.json)
	if err != nil {
		return "" // decoding says so
	}
	path, count := longestSelector("", fields)
	if count <= maxExpressions {
		return ""
	}
	return fmt.Sprintf("%s: has %d expressions; at most %d are legal here, since the scheduler needs minutes for more: give one expression with many values", path, count, maxExpressions)
}

// longestSelector returns the path of the longest list of expressions in a value at the path, and its length.
func longestSelector(path string, value any) (longest string, count int) {
	consider := func(path string, value any) {
		if p, n := longestSelector(path, value); n > count {
			longest, count = p, n
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := name
			if path != "" {
				below = path + "." + name
			}
			if list, is := v[name].([]any); is && slices.Contains([]string{"matchExpressions", "matchFields"}, name) {
				if len(list) > count {
					longest, count = below, len(list)
				}
				continue
			}
			consider(below, v[name])
		}
	case []any:
		for i := range v {
			consider(path+"["+strconv.Itoa(i)+"]", v[i])
		}
	}
	return longest, count
}
