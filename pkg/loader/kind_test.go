package loader

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

const (
	kindConfig = "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nnodes: [{role: control-plane}, {role: worker}]\n"
	database   = `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: registry.example.com/db:1}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	pause = "---\n{apiVersion: v1, kind: Pod, metadata: {name: pause}, spec: {containers: [{name: pause, image: registry.example.com/pause:1}]}}\n"
)

func storageClassNames(s *scenario.Scenario) (names []string) {
	for _, obj := range s.Objects() {
		if class, is := obj.(*storagev1.StorageClass); is {
			names = append(names, class.Name)
		}
	}
	return names
}

func TestKindStorage(t *testing.T) {
	class := func(name, isDefault string) string {
		return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + name +
			", annotations: {storageclass.kubernetes.io/is-default-class: \"" + isDefault + "\"}}\nprovisioner: csi.example.com\n"
	}
	workers := &Nodes{Spec: topology.Spec{NodeGroups: []topology.NodeGroup{{Count: ptr.To(2)}}}, KindName: "k", Flags: []string{"--kind-name"}}
	for name, c := range map[string]struct {
		input string
		nodes *Nodes
		want  []string
		notes int
	}{
		"claims":                     {input: kindConfig + database, want: []string{"standard"}, notes: 1},
		"no claims":                  {input: kindConfig + pause},
		"another default":            {input: kindConfig + database + class("fast", "true"), want: []string{"fast"}},
		"another of the name":        {input: kindConfig + database + class("standard", "false"), want: []string{"standard"}},
		"another that is no default": {input: kindConfig + database + class("slow", "false"), want: []string{"slow", "standard"}, notes: 1},
		"nodes as kind makes them":   {input: database, nodes: workers, want: []string{"standard"}, notes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromFiles(strings.NewReader(c.input), nil, []string{"-"}, Options{Nodes: c.nodes})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, slices.Sorted(slices.Values(storageClassNames(s)))); diff != "" || len(s.Notes) != c.notes {
				t.Errorf("notes %q; classes (-want +got):\n%s", s.Notes, diff)
			}
		})
	}
}

// A variant has kind's StorageClass if its own cluster is a kind cluster.
func TestKindStorageOfVariants(t *testing.T) {
	fsys := fstest.MapFS{"kind.yaml": {Data: []byte(kindConfig)}, "db.yaml": {Data: []byte(database)}, FileName: {Data: []byte(`
apiVersion: faultline/v1alpha1
kind: Scenario
storage: none
cluster: [{synthetic: {nodeGroups: [{count: 2}]}}]
workloads: [{files: [db.yaml]}]
variants:
- {name: kind, cluster: [{files: [kind.yaml]}]}
- {name: three, cluster: [{synthetic: {nodeGroups: [{count: 3}]}}]}
`)}}
	s, err := LoadFS(fsys, FileName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{storageClassNames(s), storageClassNames(s.Variants[0].Scenario), storageClassNames(s.Variants[1].Scenario)}
	if diff := cmp.Diff([][]string{nil, {"standard"}, nil}, got); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}
