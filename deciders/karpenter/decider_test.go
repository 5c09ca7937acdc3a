package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const pool = `apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-a]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
`

// web is a Deployment of pods that ask for 900m CPU.
func web(replicas int, pod string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: %d
  template:
    metadata:
      labels: {app: web}
%s
    spec:
      containers: [{name: c, resources: {requests: {cpu: 900m, memory: 1Gi}}}]
`, replicas, pod)
}

// applyText applies objects of a text.
func (w *world) applyText(text string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.apply(file)
}

// TestDecisions has small clusters whose decisions a line derives.
func TestDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		pool  func(string) string
		pod   string
		scale int // the replicas after 12
		want  []string
		event string
	}{
		// 12 pods ask for 10.8 CPU: the smallest type with room has 16. 8 types are larger than needed, and cost more.
		"one node": {want: []string{"default/c-16x-amd64-linux/test-zone-a/on-demand pods=12"}, scale: 12},
		// 2 pods ask for 1.8 CPU and 2 GiB: a type with 2 CPU (1.9 allocatable) has room, and costs an eighth.
		"a cheaper node": {want: []string{"default/c-2x-amd64-linux/test-zone-a/on-demand pods=2"}, scale: 2, event: "(savings: $0.38)"},
		"no consolidation": {
			pool:  func(p string) string { return p + "  disruption: {consolidateAfter: Never}\n" },
			scale: 2, want: []string{"default/c-16x-amd64-linux/test-zone-a/on-demand pods=2"}, event: `NodePool "default" has consolidation disabled`,
		},
		// Karpenter may not evict the pods.
		"do not disrupt": {
			pod: `      annotations: {karpenter.sh/do-not-disrupt: "true"}`, scale: 2,
			want: []string{"default/c-16x-amd64-linux/test-zone-a/on-demand pods=2"}, event: `Pod has "karpenter.sh/do-not-disrupt" annotation`,
		},
		// The limit lets no type with more than 8 CPU in, and a second node would exceed it.
		"limits": {
			pool:  func(p string) string { return p + "  limits: {cpu: 8}\n" },
			scale: 12, want: []string{"default/c-8x-amd64-linux/test-zone-a/on-demand pods=8"}, event: "all available instance types exceed limits for nodepool",
		},
		"the budget allows none": {
			pool:  func(p string) string { return p + "  disruption: {consolidateAfter: 0s, budgets: [{nodes: \"0\"}]}\n" },
			scale: 2, want: []string{"default/c-16x-amd64-linux/test-zone-a/on-demand pods=2"}, event: "No allowed disruptions for disruption reason Underutilized due to blocking budget",
		},
		"a class of another provider": {
			pool: func(p string) string {
				return strings.NewReplacer("KWOKNodeClass", "EC2NodeClass", "karpenter.kwok.sh/v1alpha1", "karpenter.k8s.aws/v1", "karpenter.kwok.sh", "karpenter.k8s.aws").Replace(p)
			},
			scale: 12, want: []string{"default/c-16x-amd64-linux/test-zone-a/on-demand pods=12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			of := pool
			if test.pool != nil {
				of = test.pool(of)
			}
			w.applyText(of)
			w.applyText(web(12, test.pod))
			w.run(10 * time.Minute)
			w.now = w.now.Add(time.Minute)
			w.put(mergePatch(w.objects["Deployment default/web"], object{"spec": object{"replicas": float64(test.scale)}}).(object))
			w.run(10 * time.Minute)
			if diff := cmp.Diff(test.want, w.nodes()); diff != "" {
				t.Errorf("nodes (-want +got):\n%s\n%s", diff, strings.Join(w.calls, "\n"))
			}
			if !slices.ContainsFunc(w.events, func(event string) bool { return strings.Contains(event, test.event) }) {
				t.Errorf("no event says %q:\n%s", test.event, strings.Join(w.events, "\n"))
			}
		})
	}
}

// TestExpiration: a node that expires is replaced, and its pods are evicted.
func TestExpiration(t *testing.T) {
	w := newWorld(t, 1)
	w.applyText(strings.Replace(pool, "      nodeClassRef", "      expireAfter: 5m\n      terminationGracePeriod: 1m\n      nodeClassRef", 1))
	w.applyText(web(2, ""))
	w.run(6 * time.Minute)
	if made, removed := w.count("create NodeClaim"), w.count("delete NodeClaim"); made != 2 || removed != 1 {
		t.Errorf("%d NodeClaims were made and %d removed, not 2 and 1:\n%s", made, removed, strings.Join(w.calls, "\n"))
	}
	if evicted := w.count("evict"); evicted != 2 {
		t.Errorf("%d pods were evicted, not 2", evicted)
	}
}

// TestLostNode: the NodeClaim of a lost node goes within two minutes, and another node comes.
func TestLostNode(t *testing.T) {
	w := newWorld(t, 1)
	w.applyText(pool)
	w.applyText(web(2, ""))
	w.run(time.Minute)
	for _, node := range w.all("Node") {
		w.remove(keyOf(node))
	}
	for _, pod := range w.all("Pod") {
		w.remove(keyOf(pod))
	}
	w.run(5 * time.Minute)
	if diff := cmp.Diff([]string{"default/c-2x-amd64-linux/test-zone-a/on-demand pods=2"}, w.nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s\n%s", diff, strings.Join(w.calls, "\n"))
	}
}

// TestTakeBack: a search that goes back and decides again gets the same answer.
func TestTakeBack(t *testing.T) {
	w := newWorld(t, 1)
	w.applyText(pool)
	w.run(time.Minute)
	before := w.memory
	try := func() []string {
		w.memory, w.calls, w.again = before, nil, time.Time{}
		w.now = time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
		w.made = 100
		w.applyText(web(3, ""))
		w.run(time.Minute)
		calls := slices.Clone(w.calls)
		for _, kind := range []string{"Deployment", "Pod", "Node", "NodeClaim"} {
			for _, o := range w.all(kind) {
				w.remove(keyOf(o))
			}
		}
		return calls
	}
	first := try()
	w.decide()
	second := try()
	created := func(calls []string) []string {
		return slices.DeleteFunc(calls, func(call string) bool { return !strings.HasPrefix(call, "create") })
	}
	if diff := cmp.Diff(created(first), created(second)); diff != "" || len(created(first)) == 0 {
		t.Errorf("the second time it decides otherwise:\n%s", diff)
	}
}

// TestAdmit: what the definitions refuse is said with the field.
func TestAdmit(t *testing.T) {
	w := newWorld(t, 1)
	wrong := strings.NewReplacer("operator: In, values: [linux]", "operator: Maybe, values: [linux]", "spec:\n  template", "spec:\n  wait: 3\n  weight: 1000\n  template").Replace(pool)
	var objects []any
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range readObjects(t, file) {
		objects = append(objects, o)
	}
	said, err := json.Marshal(w.ask(object{"admit": object{"objects": objects}})["admit"].(object)["problems"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"field":"spec.wait","index":1,"message":"unknown field"`, `"field":"spec.weight"`, `"field":"spec.template.spec.requirements[3].operator"`} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no problem says %s: %s", want, said)
		}
	}
}

// TestShapes: a NodePool of another provider launches nodes of the types that the cluster has, and its nodes are not drifted.
func TestShapes(t *testing.T) {
	w := newWorld(t, 1)
	of := strings.NewReplacer("KWOKNodeClass", "EC2NodeClass", "karpenter.kwok.sh/v1alpha1", "karpenter.k8s.aws/v1", "karpenter.kwok.sh", "karpenter.k8s.aws", "test-zone-a", "eu-west-1a").Replace(pool)
	node := `apiVersion: v1
kind: Node
metadata:
  name: old
  labels: {node.kubernetes.io/instance-type: m5.xlarge, topology.kubernetes.io/zone: eu-west-1a, kubernetes.io/arch: amd64, kubernetes.io/os: linux}
spec: {taints: [{key: a, effect: NoSchedule}]}
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  allocatable: {cpu: 3920m, memory: 15Gi, pods: "58"}
`
	w.applyText(of)
	w.applyText(node)
	w.applyText(web(5, ""))
	w.run(10 * time.Minute)
	// A node has room for 4 of the pods, which ask for 900m of its 3920m.
	want := []string{"default/m5.xlarge/eu-west-1a/on-demand pods=1", "default/m5.xlarge/eu-west-1a/on-demand pods=4"}
	got := w.nodes()
	if len(got) == 2 && got[0] != want[0] { // the scheduler spreads the pods
		want = []string{"default/m5.xlarge/eu-west-1a/on-demand pods=2", "default/m5.xlarge/eu-west-1a/on-demand pods=3"}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s\n%s", diff, strings.Join(w.calls, "\n"))
	}
	if !slices.ContainsFunc(w.events, func(event string) bool {
		return strings.Contains(event, "the shapes of the cluster's nodes stand for them, at $0.025 for a CPU and $0.001 for a GB an hour: m5.xlarge;")
	}) {
		t.Errorf("no event says which types are assumed:\n%s", strings.Join(w.events, "\n"))
	}
}
