package loader

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/topology"
)

// Nodes are made up if the objects have none: always if a flag asks for them, and otherwise only if nothing shows that a cluster is
// missing.
func TestNodes(t *testing.T) {
	two := 2
	onMissing := func(version string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u" + version + ", resourceVersion: '" + version +
			"'}, spec: {nodeName: n9, containers: [{name: c, image: registry.example.com/c:1}]}, status: {phase: Running}}\n"
	}
	for name, c := range map[string]struct {
		cluster, files, flags []string
		stdin, kind           string
		want                  []string
		notes                 int
		problem               string
	}{
		"assumed":      {files: []string{"testdata/files/web.yaml"}, want: []string{"node-1", "node-2"}, notes: 1},
		"asked":        {files: []string{"testdata/files/web.yaml"}, flags: []string{"--nodes"}, want: []string{"node-1", "node-2"}},
		"as kind does": {files: []string{"testdata/files/web.yaml"}, kind: "k", want: []string{"k-control-plane", "k-worker", "k-worker2"}, notes: 1},
		"nodes given":  {files: []string{"testdata/files/nodes.yaml", "testdata/files/web.yaml"}, want: []string{"worker-1", "worker-2"}},
		"nodes given and asked": {files: []string{"testdata/files/nodes.yaml", "testdata/files/web.yaml"}, flags: []string{"--nodes", "--cpu"},
			problem: "command line: --nodes, --cpu: the input has nodes of its own, worker-1 and worker-2; leave out these nodes, or --nodes and --cpu"},
		"a cluster without nodes": {cluster: []string{"testdata/files/web.yaml"},
			problem: "command line: there are no nodes, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump (--cluster or -f)"},
		"a cluster with pods of nodes that are all missing": {cluster: []string{"-"}, stdin: onMissing("1") + "\n---\n" + strings.ReplaceAll(onMissing("2"), "name: p", "name: q"),
			problem: "command line: there are no nodes, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump (--cluster or -f)"},
		"a cluster without nodes, asked": {cluster: []string{"testdata/files/web.yaml"}, flags: []string{"--nodes"}, want: []string{"node-1", "node-2"}},
		"a pod of a cluster":             {files: []string{"-"}, stdin: onMissing("1"), want: []string{"node-1", "node-2"}, notes: 2},
		"several pods of a cluster": {files: []string{"-"}, stdin: onMissing("1") + "---\n" + strings.Replace(onMissing("2"), "name: p,", "name: q,", 1),
			problem: "command line: there are no nodes, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump (--cluster or -f)"},
		"a pod on a node that is missing": {files: []string{"-"},
			stdin:   "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n9, containers: [{name: c, image: registry.example.com/c:1}]}}",
			problem: "command line: there are no nodes, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump (--cluster or -f)"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := &Nodes{Spec: topology.Spec{NodeGroups: []topology.NodeGroup{{Count: &two}}}, KindName: c.kind, Flags: c.flags, Assumed: "assumed."}
			s, err := FromFiles(strings.NewReader(c.stdin), c.cluster, c.files, Options{Nodes: nodes})
			if err != nil {
				if diff := cmp.Diff(c.problem, err.Error()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(c.want, namesOf(s.Nodes())); diff != "" || len(s.Notes) != c.notes || c.problem != "" {
				t.Errorf("notes %q, want a problem %q (-want +got):\n%s", s.Notes, c.problem, diff)
			}
		})
	}
}
