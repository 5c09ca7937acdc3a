package topology

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A price of 0 is not the same as no price. A value that is not a number of at least 0 is an error.
func TestPrice(t *testing.T) {
	for annotation, want := range map[string]struct {
		price        float64
		given, legal bool
	}{
		"0.38": {0.38, true, true}, "0": {0, true, true}, "1e2": {100, true, true},
		"-1": {}, "NaN": {}, "Inf": {}, "": {}, "1 EUR": {},
	} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{PriceAnnotation: annotation}}}
		price, given, err := Price(node)
		if price != want.price || given != want.given || (err == nil) != want.legal {
			t.Errorf("%q: price %v, given %v, error %v; want %+v", annotation, price, given, err, want)
		}
	}
	if _, given, err := Price(&v1.Node{}); given || err != nil {
		t.Errorf("without an annotation: given %v, error %v", given, err)
	}
}
