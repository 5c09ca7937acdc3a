package fleet

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/scenario"
)

// The world has a function for each action of the scenario file that federations support.
func TestActions(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(slices.Values(scenario.ActionNames(true))), slices.Sorted(maps.Keys(actions))); diff != "" {
		t.Errorf("(-file +world)\n%s", diff)
	}
}
