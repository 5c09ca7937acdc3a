package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrouped(t *testing.T) {
	got := Group([]int{1, 12, 3, 15, 11}, func(n int) int { return n / 10 })
	if diff := cmp.Diff([][]int{{1, 3}, {12, 15, 11}}, got); diff != "" {
		t.Error(fmt.Sprint("(-want +got):\n", diff))
	}
}
