package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods a and c have versions, b has none. c was created first, then b, then a. By version a comes before c; b comes after both, so that any
// order of the input gives the same order.
func TestDecisionsHaveOneOrder(t *testing.T) {
	named := func(name, version string, created int64) *podLife {
		return &podLife{version: version, pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(created, 0))}}}
	}
	a, b, c := named("a", "1", 3), named("b", "", 2), named("c", "2", 1)
	for _, lives := range [][]*podLife{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		var got []string
		for _, l := range slices.SortedStableFunc(slices.Values(lives), byDecision) {
			got = append(got, l.pod.Name)
		}
		if order := strings.Join(got, " "); order != "a c b" {
			t.Errorf("order %s, want a c b", order)
		}
	}
}
