package peak

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestMarkBeaten(t *testing.T) {
	for name, test := range map[string]struct {
		remedies []Remedy
		want     []bool
	}{
		"cheaper with as few pods left":  {[]Remedy{{Price: ptr.To(2.0)}, {Price: ptr.To(1.0)}}, []bool{true, false}},
		"fewer pods left for more":       {[]Remedy{{Price: ptr.To(2.0)}, {Price: ptr.To(1.0), Short: 3}}, []bool{false, false}},
		"a loss counts":                  {[]Remedy{{Price: ptr.To(1.0), AfterLoss: 4}, {Price: ptr.To(1.0), Short: 3}}, []bool{true, false}},
		"two alike":                      {[]Remedy{{Price: ptr.To(1.0)}, {Price: ptr.To(1.0)}}, []bool{false, false}},
		"replicas given up count":        {[]Remedy{{GivesUp: 5}, {Short: 4}}, []bool{true, false}},
		"without a price, by CPU":        {[]Remedy{{Price: ptr.To(9.0), cores: 4}, {cores: 8}}, []bool{false, true}},
		"a change without nodes is free": {[]Remedy{{Price: ptr.To(9.0), cores: 4}, {}}, []bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			markBeaten(test.remedies)
			var got []bool
			for i := range test.remedies {
				got = append(got, test.remedies[i].Beaten)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
