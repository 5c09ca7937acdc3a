package loader

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// The profile that the scenario names is used, and is one of the scenario's files.
func TestHydrolixProfile(t *testing.T) {
	fsys := fstest.MapFS{
		FileName:       {Data: []byte(customHead + "workloads: [{files: [h.yaml]}]\noperators: {hydrolix: {profile: profile.yaml}}")},
		"profile.yaml": {Data: []byte("{label: app, weight: 1, scaleProfiles: [eval], services: {ui: {kind: Deployment, replicas: {eval: 4}}}}")},
		"h.yaml":       {Data: []byte("apiVersion: hydrolix.io/v1\nkind: HydrolixCluster\nmetadata: {name: h}\nspec: {}\n")},
	}
	s, err := LoadFS(fsys, FileName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range s.Workloads {
		if cluster.KindOf(obj) != "PriorityClass" {
			names = append(names, obj.GetName())
		}
	}
	if diff := cmp.Diff([]string{"ui"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if files, err := Files(fsys, s); err != nil || !slices.Contains(files, "profile.yaml") {
		t.Errorf("%v, %v", files, err)
	}
}
