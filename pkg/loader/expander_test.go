package loader

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

const (
	trinoCluster = "apiVersion: trino.stackable.tech/v1alpha1\nkind: TrinoCluster\nmetadata: {name: t}\nspec:\n  image: {productVersion: '477'}\n  clusterConfig: {catalogLabelSelector: {}}\n" +
		"  coordinators: {roleGroups: {default: {replicas: 1}}}\n  workers: {roleGroups: {default: {replicas: 2}}}\n"
	trinoCatalog = "apiVersion: trino.stackable.tech/v1alpha1\nkind: TrinoCatalog\nmetadata: {name: hive}\nspec: {connector: {hive: {metastore: {configMap: hive}}}}\n"
	hiveCluster  = "apiVersion: hive.stackable.tech/v1alpha1\nkind: HiveCluster\nmetadata: {name: hive}\nspec: {image: {productVersion: 4.0.1}, metastore: {roleGroups: {default: {replicas: 1}}}}\n"
)

// describeStatefulSets returns, for each StatefulSet in the list, the number of its terms of affinity to other pods and of its replicas.
func describeStatefulSets(objects []cluster.Object) []string {
	var found []string
	for _, obj := range objects {
		set, is := obj.(*appsv1.StatefulSet)
		if !is {
			continue
		}
		terms := 0
		if a := set.Spec.Template.Spec.Affinity; a != nil && a.PodAffinity != nil {
			terms = len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		found = append(found, fmt.Sprintf("%s %d ×%d", set.Name, terms, *set.Spec.Replicas))
	}
	return found
}

func loadResources(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := LoadFS(fstest.MapFS{
		FileName: {Data: []byte(customHead + text)}, "trino.yaml": {Data: []byte(trinoCluster)},
		"catalog.yaml": {Data: []byte(trinoCatalog)}, "hive.yaml": {Data: []byte(hiveCluster)},
	}, FileName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A TrinoCatalog and the HiveCluster that it names are in other sources than the TrinoCluster, before and after it.
func TestReferencesOverSources(t *testing.T) {
	for _, files := range []string{"hive.yaml trino.yaml catalog.yaml", "trino.yaml catalog.yaml hive.yaml", "catalog.yaml hive.yaml trino.yaml"} {
		text := "workloads:\n"
		for _, file := range strings.Fields(files) {
			text += "- files: [" + file + "]\n"
		}
		s := loadResources(t, text)
		got := describeStatefulSets(s.Workloads)
		for _, want := range []string{"t-coordinator-default 2 ×1", "t-worker-default 1 ×2"} {
			if !strings.Contains(strings.Join(got, ", "), want) {
				t.Errorf("%s: %q, want %s", files, got, want)
			}
		}
		if len(s.Notes) > 0 {
			t.Errorf("%s: notes %q", files, s.Notes)
		}
	}
}

// A resource that is applied later changes what operators make of earlier resources. A resource that was deleted, or that fresh removed, no
// longer does.
func TestReferencesOverSteps(t *testing.T) {
	s := loadResources(t, `workloads: [{files: [trino.yaml]}]
steps:
- {name: catalog, apply: {files: [catalog.yaml]}}
- {name: hive, apply: {files: [hive.yaml]}}
- {name: fresh, fresh: true, apply: {files: [catalog.yaml]}}
`)
	if diff := cmp.Diff([]string{"t-coordinator-default 1 ×1", "t-worker-default 1 ×2"}, describeStatefulSets(s.Workloads)); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	want := [][]string{{"t-coordinator-default 2 ×1"}, {"hive-metastore-default 0 ×1"}, nil}
	for i := range want {
		if diff := cmp.Diff(want[i], describeStatefulSets(s.Steps[i].Objects)); diff != "" {
			t.Errorf("step %s (-want +got):\n%s", s.Steps[i].Name, diff)
		}
	}
}

// A patch of a custom resource applies the objects that its operator then makes otherwise, and nothing else.
func TestPatchOfResource(t *testing.T) {
	s := loadResources(t, `workloads: [{files: [trino.yaml]}]
steps:
- {name: more, patch: {target: trinocluster/t, patch: {spec: {workers: {roleGroups: {default: {replicas: 5}}}}}}}
- {name: again, patch: {target: trinoclusters.trino.stackable.tech/t, type: json, patch: [{op: replace, path: /spec/workers/roleGroups/default/replicas, value: 6}]}}
`)
	for i, want := range []string{"t-worker-default 1 ×5", "t-worker-default 1 ×6"} {
		if diff := cmp.Diff([]string{want}, describeStatefulSets(s.Steps[i].Objects)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if want := `patch trinocluster/t -p '{"spec":{"workers":{"roleGroups":{"default":{"replicas":5}}}}}'`; s.Steps[0].Action != want {
		t.Errorf("%s, want %s", s.Steps[0].Action, want)
	}
}

// A variant patches the resource in any part of the scenario.
func TestPatchOfResourceInVariant(t *testing.T) {
	s := loadResources(t, `workloads: [{files: [trino.yaml]}]
variants:
- {name: more, patches: [{target: trinocluster/t, patch: {spec: {workers: {roleGroups: {default: {replicas: 5}, second: {replicas: 1}}}}}}]}
`)
	v := s.Variants[0]
	if diff := cmp.Diff([]string{"t-coordinator-default 1 ×1", "t-worker-default 1 ×5", "t-worker-second 1 ×1"}, describeStatefulSets(v.Scenario.Workloads)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t-coordinator-default 1 ×1", "t-worker-default 1 ×2"}, describeStatefulSets(s.Workloads)); diff != "" {
		t.Errorf("the scenario itself (-want +got):\n%s", diff)
	}
	if len(v.Workloads) != 1 || v.Workloads[0].Name != "t-worker-default" {
		t.Errorf("%v", v.Workloads)
	}
}

func TestWrongPatchesOfResources(t *testing.T) {
	for patch, want := range map[string]string{
		"{target: trinocluster/t, type: strategic, patch: {spec: {}}}":             "scenario.yaml: steps[0].patch.type: strategic is not for custom resources, which the API server patches by merge or json; give one of these",
		"{target: trinocluster/t, patch: {metadata: {name: u}}}":                   "scenario.yaml: steps[0].patch.patch: the patch changes the kind, namespace or name of TrinoCluster.trino.stackable.tech default/t, which cannot change",
		"{target: trinocluster/t, patch: {spec: {workers: {roleGroups: {a: 3}}}}}": "trino.yaml: TrinoCluster default/t: spec.workers: roleGroups[a]: Invalid value: 3: ",
		"{target: trinocluster/u, patch: {spec: {}}}":                              `scenario.yaml: steps[0].patch.target: "trinocluster/u" has a kind that takes no part in scheduling`,
	} {
		_, err := LoadFS(fstest.MapFS{
			FileName: {Data: []byte(customHead + "workloads: [{files: [trino.yaml]}]\nsteps: [{name: p, patch: " + patch + "}]\n")}, "trino.yaml": {Data: []byte(trinoCluster)},
		}, FileName, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\ngot  %v\nwant %s", patch, err, want)
		}
	}
}
