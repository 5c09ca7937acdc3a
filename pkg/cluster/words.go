package cluster

import (
	"fmt"
	"strings"
)

// Count counts objects: "1 pod", "2 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List lists names as a sentence does: "a", "a and b", "a, b and c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Few lists a few names, and counts the others of many: "a, b, c, d, e, f and 2 more".
func Few(names []string) string {
	const most = 6
	if len(names) <= most {
		return List(names)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
