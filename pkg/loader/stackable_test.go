package loader

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// ADR026 gives Trino's workers no affinity to other roles; the operator does. The scenario or the command line may ask for ADR026.
func TestStackableADR(t *testing.T) {
	const trino = `apiVersion: trino.stackable.tech/v1alpha1
kind: TrinoCluster
metadata: {name: t}
spec:
  image: {productVersion: "477"}
  clusterConfig: {catalogLabelSelector: {}}
  coordinators: {roleGroups: {default: {}}}
  workers: {roleGroups: {default: {}}}
`
	for _, test := range []struct {
		name, operators string
		flag, together  bool
	}{
		{"neither", "", false, true},
		{"the scenario", "operators: {stackable: {adr: true}}\n", false, false},
		{"the command line", "", true, false},
		{"the scenario does not take it back", "operators: {stackable: {adr: false}}\n", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			text := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster: [{synthetic: {nodeGroups: [{count: 1}]}}]\n" +
				test.operators + "workloads: [{files: [trino.yaml]}]\n"
			for file, content := range map[string]string{"scenario.yaml": text, "trino.yaml": trino} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var opts Options
			opts.Operators.Stackable.ADR = test.flag
			loaded, err := Load(dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, obj := range loaded.Workloads {
				if set, is := obj.(*appsv1.StatefulSet); is {
					found++
					if got := set.Spec.Template.Spec.Affinity.PodAffinity != nil; got != test.together {
						t.Errorf("%s: affinity to other roles %t, want %t", set.Name, got, test.together)
					}
				}
			}
			if found != 2 {
				t.Errorf("%d StatefulSets", found)
			}
		})
	}
}
