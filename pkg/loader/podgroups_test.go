package loader

import (
	gocmp "cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Pods of a dump that ask for a pod group of another scheduler are in the group of that name if their own scheduler is simulated, and a note says
// so, or who else places them.
func TestAskedPodGroups(t *testing.T) {
	const (
		ofPlugins = `{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: default, resourceVersion: "1"}, spec: {minMember: 3}}`
		ofVolcano = `{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, namespace: default, resourceVersion: "1"}, spec: {minMember: 3}}`
		byLabel   = `labels: {scheduling.x-k8s.io/pod-group: g}`
		byOlder   = `labels: {pod-group.scheduling.sigs.k8s.io: g}`
		annotated = `annotations: {scheduling.k8s.io/group-name: g}`
		assumed   = "assumed: the scheduler of the pods that ask for PodGroup (default/g) by a label places all or none"
		oneByOne  = "The pods of PodGroup (default/g) are placed one by one"
	)
	for _, tt := range []struct {
		name, group, meta, scheduler, kubelet, gates string
		manifest                                     bool
		joined                                       bool
		note                                         string // "": none
	}{
		{name: "the default scheduler", group: ofPlugins, meta: byLabel, joined: true, note: assumed},
		{name: "the label of earlier releases", group: ofPlugins, meta: byOlder, joined: true, note: assumed},
		{name: "switched off", group: ofPlugins, meta: byLabel, gates: "GenericWorkload=false", note: oneByOne},
		{name: "as 1.35", group: ofPlugins, meta: byLabel, kubelet: "v1.35.2", joined: true, note: assumed},
		{name: "as 1.34, which has no gangs", group: ofPlugins, meta: byLabel, kubelet: "v1.34.2", note: oneByOne},
		{name: "a manifest", group: ofPlugins, meta: byLabel, manifest: true, note: oneByOne},
		{name: "a manifest with the gate", group: ofPlugins, meta: byLabel, manifest: true, gates: "GenericWorkload=true", joined: true, note: assumed},
		{name: "no group", group: `{apiVersion: v1, kind: Namespace, metadata: {name: default}}`, meta: byLabel, note: "Pods ask by a label for PodGroup (default/g), which the input lacks"},
		{name: "another scheduler", group: ofVolcano, meta: annotated, scheduler: "volcano", note: `left to the scheduler "volcano", which is not simulated: Pod (default/p), all or none of PodGroup (default/g).`},
		{name: "kube-scheduler ignores Volcano's groups", group: ofVolcano, meta: annotated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node, resourceVersion: "1"}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}, nodeInfo: {kubeletVersion: ` + gocmp.Or(tt.kubelet, "v1.37.1") + `}}}
- ` + tt.group + `
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, resourceVersion: "1", ` + tt.meta + `}, spec: {schedulerName: ` + gocmp.Or(tt.scheduler, "default-scheduler") + `, containers: [{name: c, image: i}]}}
`
			if tt.manifest {
				text = strings.ReplaceAll(text, `, resourceVersion: "1"`, "")
			}
			file := filepath.Join(t.TempDir(), "dump.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := FromFiles(nil, nil, []string{file}, Options{FeatureGates: tt.gates})
			if err != nil {
				t.Fatal(err)
			}
			if got := groupOfPod(s); (got == "g") != tt.joined {
				t.Errorf("the pod is in group %q, want one: %v", got, tt.joined)
			}
			groupNotes := slices.DeleteFunc(slices.Clone(s.Notes), func(note string) bool { return !strings.Contains(note, "PodGroup") })
			if tt.note == "" && len(groupNotes) > 0 || tt.note != "" && (len(groupNotes) != 1 || !strings.HasPrefix(groupNotes[0], tt.note)) {
				t.Errorf("notes about groups (-want +got)\n%s", cmp.Diff([]string{tt.note}, groupNotes))
			}
		})
	}
}

// groupOfPod returns the pod group of the scenario's pod.
func groupOfPod(s *scenario.Scenario) string {
	for _, obj := range s.Objects() {
		if pod, is := obj.(*v1.Pod); is {
			return cluster.PodGroupOf(pod)
		}
	}
	return ""
}
