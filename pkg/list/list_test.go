package list

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLists(t *testing.T) {
	tens := func(n int) int { return n / 10 }
	even := func(n int) bool { return n%2 == 0 }
	items := []int{1, 12, 3, 15, 12}
	for name, test := range map[string]struct{ got, want any }{
		"each":          {Map(items, tens), []int{0, 1, 0, 1, 1}},
		"each of none":  {Map(nil, tens), []int(nil)},
		"where":         {Where(items, even), []int{12, 12}},
		"where none is": {Where(items[:1], even), []int(nil)},
		"without":       {Without(items, even), []int{1, 3, 15}},
		"once":          {Distinct(items), []int{1, 12, 3, 15}},
		"count":         {Count(items, even), 2},
		"group":         {GroupBy(items, tens), [][]int{{1, 3}, {12, 15, 12}}},
		"by":            {IndexBy(items, tens), map[int]int{0: 3, 1: 12}},
		"set":           {KeySet(items, tens), map[int]bool{0: true, 1: true}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]int{1, 12, 3, 15, 12}, items); diff != "" {
		t.Errorf("the items have changed (-want +got):\n%s", diff)
	}
}
