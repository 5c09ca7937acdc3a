package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// listLimits limits lists that an API server takes at any length, and for which the scheduler would need minutes.
var listLimits = []struct {
	fields []string // the names of the lists
	sign   string   // in the text of each element
	most   int
	what   string
	advice string
}{
	// Upstream sorts all expressions anew for each that it adds, for every pod that it schedules: with 30,000, Add in
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/labels/selector.go takes minutes for three
	// pods. One expression may have any number of values.
	{[]string{"matchExpressions", "matchFields"}, `"operator"`, 5_000, "expressions", "give one expression with many values"},
	// The time per pod is quadratic in the number of constraints: 300 pods with 5,000 take minutes.
	{[]string{"topologySpreadConstraints"}, `"whenUnsatisfiable"`, 1_000, "constraints", "leave out those that others imply"},
}

// longSelector returns the problem of an object with a list that is longer than its limit, or "".
func (it item) longSelector() string {
	for _, limit := range listLimits {
		if bytes.Count(it.json, []byte(limit.sign)) <= limit.most {
			continue
		}
		fields, err := decodeFields(it.json)
		if err != nil {
			return "" // decoding says so
		}
		if path, count := longestList(limit.fields, "", fields); count > limit.most {
			return fmt.Sprintf("%s: has %d %s; at most %d are legal here, since the scheduler needs minutes for more: %s", path, count, limit.what, limit.most, limit.advice)
		}
	}
	return ""
}

// longestList returns the path of the longest list with one of the names in a value at the path, and its length.
func longestList(names []string, path string, value any) (longest string, count int) {
	consider := func(path string, value any) {
		if p, n := longestList(names, path, value); n > count {
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
			if list, is := v[name].([]any); is && slices.Contains(names, name) {
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
