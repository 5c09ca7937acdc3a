package world

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/scenario"
)

// The world has a function for each action of the scenario file.
func TestActions(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(slices.Values(scenario.ActionNames(false))), slices.Sorted(maps.Keys(actions))); diff != "" {
		t.Errorf("(-file +world)\n%s", diff)
	}
}
