package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/simulation"
)

// listFixes returns a line per fix: the change, what is Pending after it (and of the workload), and the pod's node.
func listFixes(t *testing.T, result *simulation.Result, step string) (fixes, tried []string) {
	t.Helper()
	s, err := findStep(result, step)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pending) == 0 {
		t.Fatalf("nothing is Pending after step %s", step)
	}
	at := max(0, slices.IndexFunc(s.Pending, func(p placement.Pending) bool { return p.Pod.Labels["app"] == "web" }))
	found, tried, err := Fixes(context.Background(), result, step, s.Pending[at].Pod, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		fixes = append(fixes, strings.TrimSpace(fmt.Sprintf("%s: %d (%d) %s", f.Change, f.Pending, f.OfWorkload, f.Node)))
	}
	return fixes, tried
}

// node returns a node of 4 CPU with further fields in its spec.
func node(name, zone, spec string) string {
	return fmt.Sprintf(`  - {apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: %s}},
     spec: {%s}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
`, name, name, zone, spec)
}

// workload returns a Deployment or a StatefulSet called web with further fields in the pods' spec.
func workload(kind string, replicas int, requests, spec string) string {
	return fmt.Sprintf(`  - apiVersion: apps/v1
    kind: %s
    metadata: {name: web}
    spec:
      replicas: %d
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: c, image: c, resources: {requests: {%s}}}]%s}
`, kind, replicas, requests, spec)
}

// fillingPod returns a pod that takes all CPU of a node.
func fillingPod(node string) string {
	return fmt.Sprintf("  - {apiVersion: v1, kind: Pod, metadata: {name: fills-%s}, spec: {nodeName: %s, containers: [{name: c, image: c, resources: {requests: {cpu: 4}}}]}}\n", node, node)
}

const (
	apart = `, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}`
	taint = `taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]`
)

func TestFixes(t *testing.T) {
	for _, c := range []struct {
		name, cluster, workload, steps string
		step                           string
		fixes, tried                   []string
	}{
		{
			// Three workers and a tainted control plane, which nothing says the pods are meant for. A soft rule does not help by itself: the old
			// pods keep the new ones of its rollout away, and none of them may stop before a new one runs, unless two may be missing.
			name:     "one too many for the nodes",
			cluster:  node("cp", "a", taint) + node("w1", "a", "") + node("w2", "b", "") + node("w3", "b", ""),
			workload: workload("Deployment", 4, "cpu: 100m", apart),
			step:     "workloads",
			fixes: []string{
				"make the required anti-affinity over kubernetes.io/hostname preferred, and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 2: 0 (0) w3",
				"one more node like w1 in topology.kubernetes.io/zone a: 0 (0) w1-new-1",
				"one more node like w2 in topology.kubernetes.io/zone b: 0 (0) w2-new-1",
				"one replica fewer: 3: 0 (0)",
			},
		},
		{
			// 4 CPU take one pod of 2500m, and leave 1500m: the rollout stops it only once two others run, of at most 750m each. A node in zone b is
			// like n1 in the place of n2, which is cordoned.
			name:     "too large",
			cluster:  node("n1", "a", "") + node("n2", "b", "unschedulable: true"),
			workload: workload("Deployment", 2, "cpu: 2500m, memory: 1Gi", ""),
			step:     "workloads",
			fixes: []string{
				"uncordon n2: 0 (0) n2",
				"request at most 750m CPU (now 2500m): 0 (0) n1",
				"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
				"one more node like n1 in topology.kubernetes.io/zone b: 0 (0) n2-new-1",
				"one replica fewer: 1: 0 (0)",
			},
		},
		{
			// Two pods of more importance take the first two new nodes.
			name:    "others wait before it",
			cluster: node("n1", "a", ""),
			workload: workload("Deployment", 1, "cpu: 4", "") + strings.ReplaceAll(workload("Deployment", 3, "cpu: 4", ", priorityClassName: system-cluster-critical"),
				"web", "vital"),
			step:  "workloads",
			fixes: []string{"3 more nodes like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-3"},
			tried: []string{"request less CPU", "one more node like n1 in topology.kubernetes.io/zone a"},
		},
		{
			// Only the last of four nodes has room, so the label helps there alone.
			name:     "a label on a node with room",
			cluster:  node("n1", "a", "") + node("n2", "a", "") + node("n3", "a", "") + node("n4", "a", "") + fillingPod("n1") + fillingPod("n2") + fillingPod("n3"),
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {disk: ssd}"),
			step:     "workloads",
			fixes: []string{
				"label node n4 with disk=ssd: 0 (0) n4",
				"make the node selector disk=ssd preferred node affinity: 0 (0) n4",
				"one more node like n1 with disk=ssd in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
			},
		},
		{
			// As above, but the pods' limits set their requests, and the new request is below the limit.
			name:     "too large by its limits",
			cluster:  node("n1", "a", ""),
			workload: strings.Replace(workload("Deployment", 2, "cpu: 2500m", ""), "requests", "limits", 1),
			step:     "workloads",
			fixes: []string{
				"request at most 750m CPU (now 2500m): 0 (0) n1",
				"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
				"one replica fewer: 1: 0 (0)",
			},
		},
		{
			// 8Gi take two pods of 3Gi, and leave 2Gi: the rollout stops none of them before three others run, of at most 682Mi, since
			// 2048 / 3 = 682.7. One more node takes two more, which leaves one.
			name:     "several too many",
			cluster:  node("n1", "a", ""),
			workload: workload("Deployment", 5, "memory: 3Gi", ""),
			step:     "workloads",
			fixes: []string{
				"request at most 682Mi memory (now 3Gi): 0 (0) n1",
				"one more node like n1 in topology.kubernetes.io/zone a: 1 (1) n1-new-1",
				"3 replicas fewer: 2: 0 (0)",
			},
		},
		{
			// A StatefulSet waits with the pods after the Pending one, which is the third. With a third node the fourth is Pending. A soft rule does
			// not help: the third pod is not replaced and, deleted, still meets the rule of the first two, which stay as they are until it runs.
			name:     "stateful",
			cluster:  node("n1", "a", "") + node("n2", "a", ""),
			workload: workload("StatefulSet", 5, "", apart),
			step:     "workloads",
			fixes: []string{
				"one more node like n1 in topology.kubernetes.io/zone a: 1 (1) n1-new-1",
				"3 replicas fewer: 2: 0 (0)",
			},
			tried: []string{"make the required anti-affinity over kubernetes.io/hostname preferred"},
		},
		{
			// A soft constraint over the same key keeps the hard one from becoming soft, too. Zone b is empty, since n2 is tainted, so zone
			// a takes one pod; another node there does not help, but one in its own zone does.
			name:    "removed where it cannot be soft",
			cluster: node("n1", "a", "") + node("n2", "b", taint),
			workload: workload("Deployment", 2, "", `, topologySpreadConstraints: [
          {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}},
          {maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]`),
			step: "workloads",
			fixes: []string{
				"nodeTaintsPolicy: Honor in the spread over topology.kubernetes.io/zone: 0 (0) n1",
				"maxSkew: 3 (now 1) in the spread over topology.kubernetes.io/zone: 0 (0) n1",
				"remove the spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule: 0 (0) n1",
				"one more node like n1 in topology.kubernetes.io/zone b: 0 (0) n2-new-1",
				"one more node like n1 in a topology.kubernetes.io/zone of its own: 0 (0) n1-new-1",
				"one replica fewer: 1: 0 (0)",
			},
			tried: []string{
				"nodeAffinityPolicy: Ignore in the spread over topology.kubernetes.io/zone",
				"matchLabelKeys: [pod-template-hash] in the spread over topology.kubernetes.io/zone",
				"one more node like n1 in topology.kubernetes.io/zone a",
			},
		},
		{
			// With one replica that one would be Pending, and so it would be with another node without the label.
			name:     "node selector",
			cluster:  node("n1", "a", ""),
			workload: workload("Deployment", 3, "", `, nodeSelector: {disktype: ssd}`),
			step:     "workloads",
			fixes: []string{"label node n1 with disktype=ssd: 0 (0) n1", "make the node selector disktype=ssd preferred node affinity: 0 (0) n1",
				"one more node like n1 with disktype=ssd in topology.kubernetes.io/zone a: 0 (0) n1-new-1"},
			tried: []string{"fewer replicas"},
		},
		{
			// A step patches the rule, which nothing keeps from being changed after it.
			name:     "a patch of the rule",
			cluster:  node("n1", "a", ""),
			workload: workload("Deployment", 1, "", `, nodeSelector: {disktype: hdd}`),
			steps: `
- name: patch
  patch: {target: deployment/web, type: json, patch: [{op: replace, path: /spec/template/spec/nodeSelector/disktype, value: hdd}]}`,
			step: "patch",
			fixes: []string{"label node n1 with disktype=hdd: 0 (0) n1", "make the node selector disktype=hdd preferred node affinity: 0 (0) n1",
				"one more node like n1 with disktype=hdd in topology.kubernetes.io/zone a: 0 (0) n1-new-1"},
		},
		{
			// The number of replicas is that of the scale step; two nodes take two, and a third one three. Fewer
			// replicas come last. The rollout of a soft rule waits for pods that the rule of the old ones keeps away, unless one of these may
			// stop, of which two are missing already.
			name:     "after a scale",
			cluster:  node("cp", "a", taint) + node("n1", "a", "") + node("n2", "a", ""),
			workload: workload("Deployment", 1, "", apart),
			steps: `
- {name: scale, scale: {target: deployment/web, replicas: 4}}`,
			step: "scale",
			fixes: []string{
				"make the required anti-affinity over kubernetes.io/hostname preferred, and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 3: 0 (0) n2",
				"one more node like n1 in topology.kubernetes.io/zone a: 1 (1) n1-new-1",
				"2 replicas fewer: 2: 0 (0)",
			},
		},
		{
			// n1 has other, and no room for web: it needs a second node, and no rule about it.
			name:    "passing on the trouble",
			cluster: node("n1", "a", ""),
			workload: workload("Deployment", 1, "cpu: 3", `, nodeSelector: {disktype: ssd}`) +
				strings.ReplaceAll(workload("Deployment", 1, "cpu: 3", ""), "web", "other"),
			step:  "workloads",
			fixes: []string{"one more node like n1 with disktype=ssd in topology.kubernetes.io/zone a: 0 (0) n1-new-1"},
			tried: []string{
				"label node n1 with disktype=ssd",
				"make the node selector disktype=ssd preferred node affinity",
			},
		},
		{
			// The node has the pod of the high class. A pod without a controller is created anew to change.
			name: "placed and preempted",
			cluster: node("n1", "a", "") + `  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
`,
			workload: `  - {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelector: {disktype: ssd},
     containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]}}
`,
			steps: `
- name: high
  apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priorityClassName: high, containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]}}]}`,
			step:  "high",
			fixes: []string{"one more node like n1 with disktype=ssd in topology.kubernetes.io/zone a: 0 (0) n1-new-1"},
			tried: []string{
				"label node n1 with disktype=ssd",
				"give the pods the priority class high (1000, now 0)",
				"make the node selector disktype=ssd preferred node affinity",
			},
		},
		{
			// A region of its own has a zone of its own, so both rules are kept.
			name:    "two rules",
			cluster: strings.Replace(node("n1", "a", ""), "labels: {", "labels: {topology.kubernetes.io/region: west, ", 1),
			workload: workload("Deployment", 2, "", `, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
          {topologyKey: topology.kubernetes.io/region, labelSelector: {matchLabels: {app: web}}},
          {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}]}}`),
			step: "workloads",
			fixes: []string{
				"one more node like n1 in a topology.kubernetes.io/region of its own: 0 (0) n1-new-1",
				"one replica fewer: 1: 0 (0)",
			},
			tried: []string{
				"make the required anti-affinity over topology.kubernetes.io/region preferred",
				"make the required anti-affinity over topology.kubernetes.io/zone preferred",
				"one more node like n1 in topology.kubernetes.io/region west and topology.kubernetes.io/zone a",
				"one more node like n1 in a topology.kubernetes.io/zone of its own",
			},
		},
		{
			// The first pod of the new revision finds an old one on each node, whose rule keeps it away, soft as its own may be. It needs a node
			// that an old pod leaves, or another one.
			name:     "a rolling update",
			cluster:  node("n1", "a", "") + node("n2", "a", ""),
			workload: workload("Deployment", 2, "", apart),
			steps: `
- {name: restart, rollout: {target: deployment/web, restart: true}}`,
			step: "restart",
			fixes: []string{
				"let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1: 0 (0) n2",
				"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
				"one replica fewer: 1: 0 (0) n2",
			},
			tried: []string{"make the required anti-affinity over kubernetes.io/hostname preferred"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := ""
			if c.steps != "" {
				steps = "steps:" + c.steps
			}
			result := simulated(t, "cluster:\n- objects:\n"+c.cluster+"workloads:\n- objects:\n"+c.workload+steps)
			fixes, tried := listFixes(t, result, c.step)
			if diff := cmp.Diff(c.fixes, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.tried, tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
		})
	}
}

// The objects of a running cluster, as kubectl prints them: two pods are bound and stay where they are, and the third is Pending.
func TestFixesOfADump(t *testing.T) {
	const template = `{metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]` + apart + `}}`
	pod := func(name, node string) string {
		return `  - {apiVersion: v1, kind: Pod, metadata: {name: web-7d9-` + name + `, labels: {app: web, pod-template-hash: 7d9},
       ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9, uid: rs, controller: true}]},
     spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]` + node + apart + `}}
`
	}
	result := simulated(t, "cluster:\n- objects:\n"+node("n1", "a", "")+node("n2", "a", "")+`
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: `+template+`}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-7d9, uid: rs, labels: {app: web, pod-template-hash: 7d9},
       ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]},
     spec: {replicas: 3, selector: {matchLabels: {app: web, pod-template-hash: 7d9}}, template: `+strings.Replace(template, "app: web", "app: web, pod-template-hash: 7d9", 1)+`}}
`+pod("x", ", nodeName: n1")+pod("y", ", nodeName: n2")+pod("z", ""))
	fixes, tried := listFixes(t, result, "workloads")
	if diff := cmp.Diff([]string{
		"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
		"one replica fewer: 2: 0 (0)",
	}, fixes); diff != "" {
		t.Errorf("fixes (-want +got):\n%s", diff)
	}
	// The request keeps the pod away, and so does the rule of the pods that run.
	if diff := cmp.Diff([]string{"request less CPU"}, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
	// No pod has moved: the edit changed the template to what the pods already have, so there was no rollout.
	effects, err := Effects(context.Background(), result, "workloads", deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e := effects[0]; len(effects) != 1 || e.Decides || !e.SameNodes {
		t.Errorf("effects %+v", effects)
	}
}

// Two regions, and three pods that must be in different ones. Nothing suggests that the pods are meant for the control plane, which is in
// no region. Once the rule is soft, the rules of the old pods still keep the new ones away; one old pod stops if two pods may be missing.
func TestFixesInTheWalkthrough(t *testing.T) {
	const region, zone = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
	fixes, tried := listFixes(t, walkthrough(t), "hard-region-3")
	if diff := cmp.Diff([]string{
		"make the required anti-affinity over " + region + " preferred, and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 2: 0 (0) affinity-worker3",
		"one more node like affinity-worker in a " + region + " of its own: 0 (0) affinity-worker-new-1",
		"one replica fewer: 2: 0 (0)",
	}, fixes); diff != "" {
		t.Errorf("fixes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"one more node like affinity-worker in " + region + " west and " + zone + " west-1a",
		"one more node like affinity-worker2 in " + region + " west and " + zone + " west-1c",
		"one more node like affinity-worker3 in " + region + " east and " + zone + " east-1b",
	}, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
}

func TestFixesOfAPodThatIsNotPending(t *testing.T) {
	result := simulated(t, other)
	pod := result.Steps[0].State.Pods[0]
	want := fmt.Sprintf("pod default/%s is not Pending after step \"workloads\"; ask about one of the step's Pending pods", pod.Name)
	if _, _, err := Fixes(context.Background(), result, "workloads", pod, Options{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
