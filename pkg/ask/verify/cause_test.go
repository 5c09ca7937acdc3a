package verify

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// nodeYAML returns a node of 4 CPUs in YAML. meta is added to its metadata, and more to its fields.
func nodeYAML(name, meta, more string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata: {name: %s%s, labels: {kubernetes.io/hostname: %[1]s, disk: %[1]s}}
%[3]s
`, name, meta, more)
}

const fourCPUs = `status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}`

// podYAML returns a pod in YAML that requests one CPU and got its node in that second. meta is added to its metadata, and more to its spec.
func podYAML(name, on string, second int, meta, more string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, uid: %[1]s, creationTimestamp: "2025-03-01T10:00:00Z", labels: {app: web}%[4]s}
spec: {nodeName: %[2]s, containers: [{name: c, image: "web:1", resources: {requests: {cpu: "1", memory: 1Gi}}}]%[5]s}
status: {phase: Running, conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2025-03-01T10:00:%02[3]dZ"}]}
`, name, on, second, meta, more)
}

// Two nodes of 4 CPUs and pods of 1 CPU: NodeResourcesFit gives an empty node more points than one with a pod; two empty ones are equal.
// Each world has one pod, or two, on a node that is not the best.
func TestCauses(t *testing.T) {
	equal := nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", fourCPUs)
	replica := `, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs, controller: true}]`
	for name, c := range map[string]struct {
		world string
		want  []string
	}{
		"the second on an empty node is as it should be": {equal + podYAML("a", "n1", 1, "", "") + podYAML("b", "n2", 2, "", ""), nil},
		"a moved pod": {equal + podYAML("a", "n1", 1, "", "") + podYAML("b", "n1", 2, "", ""), []string{
			"b on n1, best n2, rank 2: deleted pods: the better nodes are ahead only by scores that depend on the pods which ran: others, deleted since, could have been there",
		}},
		// The second of the two pods belongs to n2.
		"two of one second on one node": {equal + podYAML("a", "n1", 1, "", "") + podYAML("b", "n1", 1, "", ""), []string{
			"b on n1, best n2, rank 2: same second: before the others of its second it is among the best: the order within a second is not known",
		}},
		// The scheduler cannot distinguish the pods, so swapping them changes nothing.
		"alike ones of one second on one node": {equal + podYAML("a", "n1", 1, replica, "") + podYAML("b", "n1", 1, replica, ""), []string{
			"b on n1, best n2, rank 2: deleted pods: the better nodes are ahead only by scores that depend on the pods which ran: others, deleted since, could have been there",
		}},
		// Each of c and d belongs to the empty n2 if it is the first of its second. c is on n2, so c was first, and then both nodes were equal
		// for d.
		"one second in the other order": {equal + podYAML("a", "n1", 1, "", "") + podYAML("d", "n1", 3, "", "") + podYAML("c", "n2", 3, "", ""), nil},
		"a taint": {nodeYAML("n1", "", "spec: {taints: [{key: dedicated, effect: NoSchedule}]}\n"+fourCPUs) + nodeYAML("n2", "", fourCPUs) + podYAML("a", "n1", 1, "", ""), []string{
			"a on n1, best n2, TaintToleration: later change: without the taints of n1 it is among the best: they could have come later",
		}},
		"a taint that is known to be later": {nodeYAML("n1", "", `spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: "2025-03-01T11:00:00Z"}]}`+"\n"+
			fourCPUs) + nodeYAML("n2", "", fourCPUs) + podYAML("a", "n1", 1, "", ""), nil},
		"a node that is known to be later": {equal + nodeYAML("n3", `, creationTimestamp: "2025-03-01T11:00:00Z"`, fourCPUs) +
			podYAML("a", "n1", 1, "", "") + podYAML("b", "n2", 2, "", "") + podYAML("c", "n1", 3, "", ""), nil},
		"a label": {equal + podYAML("a", "n1", 1, "", ", nodeSelector: {disk: ssd}"), []string{
			"a on n1, best , NodeAffinity: later change: without the pod's node selector and required node affinity n1 is among the best: its labels could have been others then",
		}},
		"an image": {nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", strings.Replace(fourCPUs, "{alloc", "{images: [{names: [\"web:1\"], sizeBytes: 900000000}], alloc", 1)) +
			podYAML("a", "n1", 1, "", ""), []string{
			"a on n1, best n2, rank 2: later change: without ImageLocality it is among the best: the images on the nodes are those of now",
		}},
		// n1 has 16 CPUs: with a pod, a larger part of them is free than on n2 with a pod. Only spreading sends b to n2.
		"a ReplicaSet": {nodeYAML("n1", "", strings.Replace(fourCPUs, `"4", memory: 8Gi`, `"16", memory: 32Gi`, 1)) + nodeYAML("n2", "", fourCPUs) +
			podYAML("a", "n1", 1, replica, "") + podYAML("b", "n2", 2, replica, ""), []string{
			"b on n2, best n1, rank 2: missing object: with replicaset/web, which is not in the dump and by which pods are spread, it is among the best",
		}},
		"a volume": {equal + podYAML("a", "n1", 1, "", ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]") + `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-1, storageClassName: fast}
status: {phase: Bound}
`, nil}, // the volume is assumed to be where the pod is
		"a volume that may be on the smaller node": {nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", strings.Replace(fourCPUs, `"4", memory: 8Gi`, `"16", memory: 32Gi`, 1)) +
			podYAML("a", "n1", 1, "", ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"), []string{
			"a on n1, best n2, rank 2: missing object: without its volumes it fits there, and the dump lacks persistentvolumeclaim/data: " +
				"a volume can be one that no better node reaches",
		}},
		"a volume, and no room": {equal + strings.ReplaceAll(podYAML("a", "n1", 1, "", ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"), `cpu: "1"`, `cpu: "5"`), []string{
			"a on n1, best , NodeResourcesFit: unexplained: none of the checks explains it",
		}},
		"company that is gone": {equal + podYAML("a", "n1", 1, "",
			", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: disk, labelSelector: {matchLabels: {app: cache}}}]}}"), []string{
			"a on n1, best , InterPodAffinity: deleted pods: only the pods that are known keep it from being among the best: others, deleted since, could have been there",
		}},
		"a wish": {equal + podYAML("a", "n1", 1, "",
			", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: In, values: [n2]}]}}]}}"), []string{
			"a on n1, best n2, rank 2: may not have been usable: without the better nodes it is among the best: nothing says that it was not so",
		}},
		"too large": {equal + strings.ReplaceAll(podYAML("a", "n1", 1, "", ""), `cpu: "1"`, `cpu: "5"`), []string{
			"a on n1, best , NodeResourcesFit: unexplained: none of the checks explains it",
		}},
		"a pod that is being deleted now": {equal + podYAML("a", "n1", 1, `, deletionTimestamp: "2025-03-01T11:00:30Z", deletionGracePeriodSeconds: 30`, "") + podYAML("b", "n2", 2, "", ""), nil},
	} {
		var got []string
		// A stand-in for a controller that the dump lacks would hide that the controller is missing.
		s, err := loader.FromFiles(strings.NewReader(c.world), []string{"-"}, nil, loader.Options{Flags: []loader.Flag{{Set: func(f *scenario.File) { f.UnknownOwners = "gone" }}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range verified(t, s).Placements {
			if d := p.Divergence; d != nil {
				where := fmt.Sprintf("rank %d", d.Rank)
				if d.refusal != nil {
					where = d.refusal.Plugin
				}
				got = append(got, fmt.Sprintf("%s on %s, best %s, %s: %s: %s", p.Pod.Name, p.Pod.Spec.NodeName, d.Best, where, d.Class, d.Words))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Static pods, pods that have ended and pods of another scheduler are counted; the static pods and the other scheduler's still take room.
func TestSkipped(t *testing.T) {
	result := verified(t, readDump(t, nodeYAML("n1", "", fourCPUs)+nodeYAML("n2", "", fourCPUs)+
		podYAML("static", "n1", 1, `, annotations: {kubernetes.io/config.mirror: x}`, "")+
		strings.Replace(podYAML("ended", "n2", 2, "", ""), "phase: Running", "phase: Succeeded", 1)+
		podYAML("a", "n2", 3, "", "")+podYAML("theirs", "n1", 4, "", ", schedulerName: volcano")+podYAML("b", "n2", 5, "", "")))
	want := []string{"they are static: their node's kubelet starts them: [default/static]", "they have ended: [default/ended]",
		`they are for scheduler "volcano", which the configuration lacks: [default/theirs]`}
	var got []string
	for _, s := range result.Skipped {
		got = append(got, fmt.Sprintf("%s: %v", s.Why, s.Pods))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if len(verdictLines(result)) > 0 || len(result.Placements) != 2 {
		t.Errorf("%d placements, divergences %v", len(result.Placements), verdictLines(result))
	}
}

func TestNothingToVerify(t *testing.T) {
	ended := strings.Replace(podYAML("ended", "n1", 1, "", ""), "phase: Running", "phase: Succeeded", 1)
	if _, err := Run(t.Context(), readDump(t, nodeYAML("n1", "", fourCPUs)+ended), Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v, want %v", err, ErrNothing)
	}
}

// 120 nodes, of which the two large nodes are the best for every pod. A real search stops at 100 feasible nodes and continues where the
// last search stopped, so it sometimes skips the large nodes; the check must recognize this each time.
func TestSampling(t *testing.T) {
	var world strings.Builder
	for i := range 120 {
		size := fourCPUs
		if i == 50 || i == 51 {
			size = strings.Replace(fourCPUs, `"4", memory: 8Gi`, `"64", memory: 128Gi`, 1)
		}
		world.WriteString(nodeYAML(fmt.Sprintf("n%d", i), "", size))
	}
	for i := range 12 {
		fmt.Fprintf(&world, `---
apiVersion: v1
kind: Pod
metadata: {name: p%d}
spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 100m}}}]}
`, i)
	}
	var objects []runtime.RawExtension
	for _, document := range strings.Split(strings.TrimPrefix(world.String(), "---\n"), "---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, runtime.RawExtension{Raw: data})
	}
	file := &scenario.File{Cluster: []scenario.Source{{Objects: objects[:120]}}, Workloads: []scenario.Source{{Objects: objects[120:]}}}
	sampled := 0
	eachState(runFile(t, file), func(_ *simulation.Step, dumped *cluster.State) {
		for _, p := range verified(t, dump(t, dumped)).Placements {
			if d := p.Divergence; d != nil {
				sampled++
				if d.Class != Sampling {
					t.Errorf("%s: rank %d, %s: %s", p.Pod.Name, d.Rank, d.Class, d.Words)
				}
			}
		}
	})
	if sampled == 0 {
		t.Error("no search missed the best node: the world shows nothing")
	}
}
