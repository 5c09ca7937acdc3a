package loader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Storage is made up if all nodes are made up and nothing in the input shows what storage there is. * marks the default class.
func TestAssumedStorage(t *testing.T) {
	claim := func(name, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s}, spec: {%saccessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n", name, spec)
	}
	volume := func(name, class string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {%saccessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /d}}}\n", name, class)
	}
	const (
		class = "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example.com}\n"
		node  = "---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}}\n"
		cache = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: p, image: p}], " +
			"volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: scratch, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}}\n"
	)
	for name, c := range map[string]struct {
		input, storage string
		want           []string
	}{
		"a claim without a class":            {input: claim("a", "") + claim("b", ""), want: []string{"standard*"}},
		"a claim with a class":               {input: claim("a", "storageClassName: fast, "), want: []string{"fast"}},
		"a StatefulSet and a class":          {input: database + claim("a", "storageClassName: fast, "), want: []string{"fast", "standard*"}},
		"the default by its name":            {input: claim("a", "storageClassName: standard, "), want: []string{"standard*"}},
		"an ephemeral volume":                {input: cache, want: []string{"scratch"}},
		"nothing is claimed":                 {},
		"no class is wanted":                 {input: claim("a", `storageClassName: "", `)},
		"a volume is wanted":                 {input: claim("a", "volumeName: v, ")},
		"volumes without a class":            {input: claim("a", "") + volume("v", "") + claim("b", "storageClassName: fast, "), want: []string{"fast"}},
		"volumes with a class":               {input: claim("a", "storageClassName: manual, ") + volume("v", "storageClassName: manual, ") + claim("b", ""), want: []string{"standard*"}},
		"a class is given":                   {input: database + class, want: []string{"fast"}},
		"switched off":                       {input: database, storage: "none"},
		"nodes are given":                    {input: database + node},
		"nodes are given, and it is desired": {input: database + node, storage: "assumed", want: []string{"standard*"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{
				Nodes: &Nodes{Spec: topology.Spec{NodeGroups: []topology.NodeGroup{{Count: ptr.To(2)}}}},
				Flags: []Flag{{Name: "storage", Path: "storage", Set: func(f *scenario.File) { f.Storage = c.storage }}},
			}
			s, err := FromFiles(strings.NewReader(c.input+pause), nil, []string{"-"}, opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			said := strings.Contains(strings.Join(s.Notes, "\n"), "assumed, since no StorageClass is given: the class")
			for _, obj := range s.Objects() {
				if class, is := obj.(*storagev1.StorageClass); is {
					name := class.Name
					if made := class.Provisioner == assumedProvisioner; made != said {
						t.Errorf("class %s made up: %t, noted: %t", name, made, said)
					}
					if storageutil.IsDefaultAnnotation(class.ObjectMeta) {
						name += "*"
					}
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("notes %q; classes (-want +got):\n%s", s.Notes, diff)
			}
		})
	}
}
