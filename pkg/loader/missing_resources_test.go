package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/topology"
)

// Notes name the things that manifests without a cluster lack, and nothing that the manifests define.
func TestLacking(t *testing.T) {
	pod := func(name, spec string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec + "}}\n"
	}
	const (
		gpu   = "containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}}]"
		huge  = "containers: [{name: c, image: c, resources: {requests: {cpu: 1}, limits: {hugepages-2Mi: 4Mi, cpu: 1}}}]"
		data  = "containers: [{name: c, image: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: data-db-0}}]"
		class = "---\n{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: nvidia.com/gpu}}\n"
		claim = "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"
	)
	for name, c := range map[string]struct {
		input string
		want  []string
	}{
		"a device": {input: pod("a", gpu) + pod("b", gpu),
			want: []string{"no node has nvidia.com/gpu, which pod/a, pod/b request; to give each node some: --resource nvidia.com/gpu=8."}},
		"huge pages":                {input: pod("a", huge), want: []string{"no node has hugepages-2Mi, which pod/a requests; to give each node some: --resource hugepages-2Mi=1Gi."}},
		"a class has the resource":  {input: pod("a", gpu) + class},
		"a claim":                   {input: pod("a", data), want: []string{"there is no PersistentVolumeClaim data-db-0, which pod/a needs; give its manifest, too."}},
		"a claim that is given":     {input: pod("a", data) + claim},
		"a claim of a StatefulSet":  {input: pod("a", data) + database},
		"of another StatefulSet":    {input: pod("a", data) + strings.ReplaceAll(database, "name: db}", "name: cache}"), want: []string{"there is no PersistentVolumeClaim data-db-0, which pod/a needs; give its manifest, too."}},
		"nothing beyond the common": {input: pause},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Nodes: &Nodes{Spec: topology.Spec{NodeGroups: []topology.NodeGroup{{Count: ptr.To(2)}}}}}
			s, err := FromFiles(strings.NewReader(c.input), nil, []string{"-"}, opts)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(s.Notes, func(note string) bool { return note == "" || strings.HasPrefix(note, "assumed") })
			if diff := cmp.Diff(c.want, got, cmp.Transformer("", func(notes []string) string { return strings.Join(notes, "\n") })); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
