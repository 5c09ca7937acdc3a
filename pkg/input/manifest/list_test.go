package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// The items of a list of one kind, as an API server writes it, have no apiVersion and kind. They have the apiVersion of the list, and its
// kind without "List". An item's own apiVersion and kind win.
func TestItemsOfATypedList(t *testing.T) {
	const list = `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": [
  {"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {}}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}]}`
	set, err := Decode("list.json", []byte(list))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, obj := range set.Objects {
		got = append(got, cluster.KindOf(obj.Object)+" "+obj.Object.GetName()+" from "+obj.Source.Path)
	}
	if diff := cmp.Diff([]string{"PodDisruptionBudget a from items[0]", "Namespace b from items[1]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
