package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/scenarios"
)

// followFix does what a fix says, as further steps of the scenario, in a separate run from its start.
func followFix(t *testing.T, name string, fix *Fix, s *scenario.Scenario, step string) *simulation.Step {
	t.Helper()
	then := *s.CutAfter(step)
	for _, plain := range fix.Steps {
		raw, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		var next scenario.LoadedStep
		if err := json.Unmarshal(raw, &next.Step); err != nil {
			t.Fatal(err)
		}
		if next.Apply != nil {
			for _, object := range next.Apply.Objects {
				decoded, err := manifest.DecodeObject("fix", object.Raw)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				next.Objects = append(next.Objects, decoded.Object)
			}
		}
		then.Steps = append(then.Steps[:len(then.Steps):len(then.Steps)], next)
	}
	after, err := runToLastStep(context.Background(), &then)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return after
}

// count returns how many pods have a node and how many do not.
func count(pods []*v1.Pod) (running, waiting int) {
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			waiting++
		} else {
			running++
		}
	}
	return running, waiting
}

// explainFailedFix says why the pod has no node after a fix, or which other pod lost its node without being part of the price; "" if the fix holds. A
// pod is the same if its name or its node lasts; otherwise any pod of its workload counts.
func explainFailedFix(before, after *simulation.Step, pod *v1.Pod, fix *Fix) string {
	owner := before.State.Owners()(pod)
	if _, waiting := count(podsOf(after.State)[owner]); waiting != fix.OfWorkload || len(after.Pending) != fix.Pending {
		return fmt.Sprintf("%d Pending, %d of the workload; it says %d and %d", len(after.Pending), waiting, fix.Pending, fix.OfWorkload)
	}
	ran, _ := count(podsOf(before.State)[owner])
	runs, _ := count(podsOf(after.State)[owner])
	_, waited := count(podsOf(before.State)[owner])
	_, waits := count(podsOf(after.State)[owner])
	fewer := strings.Contains(fix.Change, "fewer: ")
	switch {
	case fewer && waits > 0:
		return "some still wait"
	case !fewer && (owner.Kind == "StatefulSet" || owner.Kind == "Pod"):
		found := false
		for _, now := range after.State.Pods {
			found = found || cluster.NameOf(now) == cluster.NameOf(pod) && now.Spec.NodeName != ""
		}
		if !found {
			return "the pod has no node"
		}
	case !fewer && owner.Kind == "DaemonSet":
		node, _ := daemonutil.GetTargetNodeName(pod)
		found := false
		for _, now := range podsOf(after.State)[owner] {
			found = found || now.Spec.NodeName == node
		}
		if !found {
			return "no pod runs on " + node
		}
	case !fewer && (waits >= waited || runs < min(ran, replicasOf(after.State, owner))):
		return fmt.Sprintf("%d run and %d wait, and it was %d and %d", runs, waits, ran, waited)
	}
	now := podsOf(after.State)
	for other, pods := range podsOf(before.State) {
		had, _ := count(pods)
		has, _ := count(now[other])
		if other != owner && has < had && !strings.Contains(strings.Join(fix.Price, "; "), other.Qualified()) {
			return fmt.Sprintf("%s has %d pods with a node and had %d, and the price does not say so: %v", other, has, had, fix.Price)
		}
	}
	return ""
}

// checkFixes follows the fixes of a Pending pod of each workload and refusal of the scenario's steps. It returns how many of each kind held.
func checkFixes(t *testing.T, name string, result *simulation.Result, kinds map[string]int) {
	t.Helper()
	for i := range result.Steps {
		step := &result.Steps[i]
		seen := map[string]bool{}
		for j := range step.Pending {
			pending := &step.Pending[j]
			owner := step.State.Owners()(pending.Pod)
			if key := owner.String() + pending.Message; seen[key] {
				continue
			} else {
				seen[key] = true
			}
			fixes, tried, err := Fixes(context.Background(), result, step.Name, pending.Pod, Options{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(fixes) == 0 {
				kinds["none"]++
				t.Logf("%s, step %s, %s: nothing helps: %s (%s)", name, step.Name, pending.Pod.Name, pending.Message, strings.Join(tried, "; "))
			}
			for k := range fixes {
				fix := &fixes[k]
				kinds[kindOf(fix.Change)]++
				what := fmt.Sprintf("%s, step %s, %s: %s", name, step.Name, pending.Pod.Name, fix.Change)
				if why := explainFailedFix(step, followFix(t, what, fix, result.Scenario, step.Name), pending.Pod, fix); why != "" {
					t.Errorf("%s: %s", what, why)
				}
			}
		}
	}
}

// kindOf returns the kind of a change by its words.
func kindOf(change string) string {
	for _, kind := range []string{"then delete", "one more node", "nodeTaintsPolicy", "matchLabelKeys", "maxSkew", "maxSurge", "Recreate", "priority class", "request at most", "tolerate",
		"label", "uncordon", "claim", "fewer", "old template", "preferred", "ScheduleAnyway"} {
		if strings.Contains(change, kind) {
			return kind
		}
	}
	return change
}

// crowded returns a small random world in which pods have no place for reasons of many kinds: spreads with tainted nodes, StatefulSets with pods
// of an old template, DaemonSets on full nodes, host ports, zonal volumes, labels that nodes lack, pods that are too large.
func crowded(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("cluster:\n- objects:\n")
	nodes := 2 + r.IntN(4)
	for i := range nodes {
		spec := []string{"", "", "", "unschedulable: true", "taints: [{key: dedicated, value: db, effect: NoSchedule}]"}[r.IntN(5)]
		b.WriteString(node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", r.IntN(3)), spec))
	}
	b.WriteString(`  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal, annotations: {faultline.dev/volume-topology: zone}}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
workloads:
- objects:
`)
	cpu := func() string { return fmt.Sprintf("cpu: %dm", 100*(1+r.IntN(25))) }
	b.WriteString(strings.ReplaceAll(workload("Deployment", 1+r.IntN(8), cpu(), ""), "web", "filler"))
	key := []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]
	spread := `, topologySpreadConstraints: [{maxSkew: 1, topologyKey: ` + key + `, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`
	steps := "- {name: restart, rollout: {target: deployment/filler, restart: true}}\n"
	switch r.IntN(8) {
	case 0:
		b.WriteString(workload("Deployment", 1+r.IntN(6), cpu(), spread))
		steps += "- {name: again, rollout: {target: deployment/web, restart: true}}\n"
	case 1:
		b.WriteString(workload("StatefulSet", 1+r.IntN(3), "cpu: 100m", []string{"", ", nodeSelector: {disk: ssd}"}[r.IntN(2)]))
		steps += `- name: too-large
  patch: {target: statefulset/web, type: strategic, patch: {spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: "9"}}}]}}}}}
- name: back
  patch: {target: statefulset/web, type: strategic, patch: {spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}}}}}
`
	case 2:
		b.WriteString(strings.Replace(workload("DaemonSet", 1, cpu(), ""), "      replicas: 1\n", "", 1))
	case 3:
		b.WriteString(strings.Replace(workload("Deployment", 1+r.IntN(3), cpu(), ""), "image: c,", "image: c, ports: [{containerPort: 80, hostPort: 80}],", 1))
		steps += "- {name: again, rollout: {target: deployment/web, restart: true}}\n"
	case 4:
		b.WriteString(strings.Replace(workload("StatefulSet", 3, "cpu: 100m", []string{"", spread}[r.IntN(2)]), "      selector:", `      podManagementPolicy: Parallel
      volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]
      selector:`, 1))
		steps += "- {name: down, fail: {selector: topology.kubernetes.io/zone=z0, mode: out-of-service}}\n"
	case 5:
		b.WriteString("  - {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 5}}}], initContainers: [{name: i, image: c, resources: {requests: {memory: 9Gi}}}]}}\n")
	case 6:
		b.WriteString(`  - {apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {parallelism: 3, completions: 3, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]}}}}
`)
	case 7:
		b.WriteString(workload("Deployment", 1+r.IntN(4), cpu(), apart))
		steps += "- {name: again, rollout: {target: deployment/web, restart: true}}\n"
	}
	return b.String() + "steps:\n" + steps + "- {name: drain, drain: {names: [n0]}}\n"
}

// A user who follows a fix gets what it says, and the pod has a node.
func TestFixesHold(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(20) {
		checkFixes(t, fmt.Sprintf("generated %d", seed), simulated(t, generated(seed)), kinds)
		checkFixes(t, fmt.Sprintf("crowded %d", seed), simulated(t, crowded(seed)), kinds)
	}
	t.Logf("%v", kinds)
	for _, kind := range []string{"uncordon", "then delete", "request at most", "one more node", "fewer"} {
		if kinds[kind] < 2 {
			t.Errorf("%d fixes say %s: the worlds show nothing (%v)", kinds[kind], kind, kinds)
		}
	}
}

// The same question has the same answer.
func TestFixesOfTheSamePod(t *testing.T) {
	for seed := range uint64(3) {
		result := simulated(t, crowded(seed))
		for i := range result.Steps {
			step := &result.Steps[i]
			if len(step.Pending) == 0 {
				continue
			}
			fixes, tried, err := Fixes(t.Context(), result, step.Name, step.Pending[0].Pod, Options{})
			if err != nil {
				t.Fatal(err)
			}
			again, triedAgain, err := Fixes(t.Context(), result, step.Name, step.Pending[0].Pod, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fixes, again) + cmp.Diff(tried, triedAgain); diff != "" {
				t.Errorf("world %d, step %s: asked again (-first +second):\n%s", seed, step.Name, diff)
			}
		}
	}
}

// The situations of testdata/stuck, and of the scenarios in pending, were reported in public and rebuilt here. The advice that was given
// there is among the fixes, in its words, and holds.
func TestFixesOfReportedPods(t *testing.T) {
	reported := map[string]string{
		"spread-tainted":        "nodeTaintsPolicy: Honor in the spread over kubernetes.io/hostname",
		"daemonset-starved":     "give the pods the priority class system-cluster-critical (2000000000, now 0)",
		"daemonset-preempted":   "give the pods the priority class urgent (1000, now 0)",
		"volume-label":          "label volume pv-data with topology.kubernetes.io/region=eu-central (now fsn1)",
		"host-port":             "let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1",
		"sidecar-devices":       "delete pod/train and create it with: request at most 0 example.com/npu in sidecar warm (now 8)",
		"pod-level-request":     "delete pod/pl and create it with: request at most 2500m CPU for the whole pod (now 3)",
		"no-zone-labels":        "label nodes metal-1, metal-2 and metal-3 with their topology.kubernetes.io/zone",
		"zone-down":             "nodeTaintsPolicy: Honor in the spread over topology.kubernetes.io/zone",
		"selector-and-affinity": "label node ctl-1 with node-role.kubernetes.io/worker=worker",
	}
	files, err := filepath.Glob("testdata/stuck/*.yaml")
	pending, missing := fs.Glob(scenarios.FS, "pending/*/scenario.yaml")
	if err := errors.Join(err, missing); err != nil || len(files)+len(pending) != len(reported) {
		t.Errorf("%d files for %d cases: %v", len(files)+len(pending), len(reported), err)
	}
	for name, words := range reported {
		t.Run(name, func(t *testing.T) {
			files, file := os.DirFS("testdata/stuck"), name+".yaml"
			if slices.Contains(pending, "pending/"+name+"/scenario.yaml") {
				files, file = scenarios.FS, "pending/"+name+"/scenario.yaml"
			}
			s, err := loader.LoadFS(files, file, loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, s)
			checkFixes(t, name, result, map[string]int{})
			last := result.Last()
			var found []string
			for i := range last.Pending {
				fixes, _, err := Fixes(t.Context(), result, last.Name, last.Pending[i].Pod, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, fix := range fixes {
					found = append(found, fix.Change)
				}
			}
			if all := strings.Join(found, "\n"); !strings.Contains(all, words) {
				t.Errorf("no fix says %q; they are\n%s", words, all)
			}
		})
	}
}
