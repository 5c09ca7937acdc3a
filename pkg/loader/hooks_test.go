package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Objects that Helm or Argo CD runs as hooks are left out with one note, unless they stay in the cluster.
func TestHooks(t *testing.T) {
	object := func(apiVersion, kind, metadata, rest string) string {
		return fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {%s}, %s}\n", apiVersion, kind, metadata, rest)
	}
	const (
		container = "containers: [{name: c, image: c}]"
		template  = "template: {metadata: {labels: {app: a}}, spec: {" + container + "}}"
	)
	pod := func(name, metadata string) string {
		return object("v1", "Pod", "name: "+name+metadata, "spec: {"+container+"}")
	}
	job := func(metadata string) string {
		return object("batch/v1", "Job", "name: migrate"+metadata, "spec: {template: {spec: {restartPolicy: Never, "+container+"}}}")
	}
	deployment := func(metadata string) string {
		return object("apps/v1", "Deployment", "name: cache"+metadata, "spec: {selector: {matchLabels: {app: a}}, "+template+"}")
	}
	class := func(metadata string) string {
		return object("scheduling.k8s.io/v1", "PriorityClass", "name: high"+metadata, "value: 1000")
	}
	claim := func(metadata string) string {
		return object("v1", "PersistentVolumeClaim", "name: data"+metadata, "spec: {storageClassName: '', accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
	}
	helm := func(events string) string { return ", annotations: {helm.sh/hook: '" + events + "'}" }
	argo := func(events string) string { return ", annotations: {argocd.argoproj.io/hook: '" + events + "'}" }
	web := pod("web", "")
	for name, c := range map[string]struct {
		input string
		runs  bool     // --hooks is given
		left  []string // the objects that are left out, beside the pod web
		note  string
	}{
		"no hook":                {input: job("")},
		"a test":                 {input: pod("test", helm("test")), left: []string{"pod/test"}, note: "left out 1 object that Helm runs as a hook: Pod default/test (test); --hooks runs it, too."},
		"a test of Helm 2":       {input: pod("test", helm("test-success")), left: []string{"pod/test"}, note: "left out 1 object that Helm runs as a hook: Pod default/test (test-success); --hooks runs it, too."},
		"what --hooks runs":      {input: pod("test", helm("test")) + job(helm("post-install")), runs: true},
		"a Job before each":      {input: job(helm("pre-install, pre-upgrade")), left: []string{"job/migrate"}, note: "left out 1 object that Helm runs as a hook: Job default/migrate (pre-install, pre-upgrade); --hooks runs it, too."},
		"what Helm never makes":  {input: deployment(helm("crd-install")), left: []string{"deployment/cache"}, note: "left out 1 object that Helm runs as a hook: Deployment default/cache (crd-install); --hooks runs it, too."},
		"the end of the release": {input: deployment(helm("post-delete")), left: []string{"deployment/cache"}, note: "left out 1 object that Helm runs as a hook: Deployment default/cache (post-delete); --hooks runs it, too."},
		"what stays":             {input: deployment(helm("post-install")) + class(helm("PRE-install")) + claim(helm("test,pre-upgrade"))},
		"what Helm deletes": {input: deployment(", annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}"),
			left: []string{"deployment/cache"}, note: "left out 1 object that Helm runs as a hook: Deployment default/cache (pre-install); --hooks runs it, too."},
		"Argo CD's": {input: job(argo("PreSync")) + deployment(argo("Sync")) + claim(argo("Skip")), left: []string{"job/migrate", "persistentvolumeclaim/data"},
			note: "left out 2 objects that Argo CD runs as hooks: Job default/migrate (PreSync), PersistentVolumeClaim default/data (Skip); --hooks runs them, too."},
		"both, and many": {input: job(argo("PreSync")) + pod("a", helm("test")) + pod("b", helm("test")) + pod("c", helm("test")) + pod("d", helm("test")),
			left: []string{"job/migrate", "pod/a", "pod/b", "pod/c", "pod/d"},
			note: "left out 5 objects that Helm or Argo CD runs as hooks: Job default/migrate (PreSync), Pod default/a (test), Pod default/b (test) and 2 more; --hooks runs them, too."},
		"in a cluster": {input: job(", uid: '1', resourceVersion: '1'" + helm("post-install"))},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Nodes: &Nodes{Spec: topology.Spec{NodeGroups: []topology.NodeGroup{{Count: ptr.To(1)}}}}}
			load := func(input string, runs bool) *scenario.Scenario {
				opts.Flags = []Flag{{Name: "hooks", Path: "hooks", Set: func(f *scenario.File) { f.Hooks = runs }}}
				s, err := FromFiles(strings.NewReader(input), nil, []string{"-"}, opts)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			names := func(s *scenario.Scenario) []string {
				return list.Map(s.Objects(), func(obj cluster.Object) string { return cluster.RefTo(obj).String() })
			}
			got := load(web+c.input, c.runs)
			all := load(web+c.input, true)
			there := list.KeySet(names(got), func(name string) string { return name })
			if diff := cmp.Diff(c.left, list.Without(names(all), func(name string) bool { return there[name] }), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.note, strings.Join(list.Where(got.Notes, func(note string) bool { return strings.Contains(note, "hook") }), "\n")); diff != "" {
				t.Errorf("note (-want +got):\n%s", diff)
			}
		})
	}
}
