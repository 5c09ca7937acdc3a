package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Namespace team on one node of 4 CPU, and a Deployment web of two pods with these requests and limits.
func TestFixRefused(t *testing.T) {
	team := func(objects string) string {
		return "cluster:\n- objects:\n" + node("n1", "a", "") + "  - {apiVersion: v1, kind: Namespace, metadata: {name: team}}\n" + objects
	}
	quota := func(hard string) string {
		return team("  - {apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: team}, spec: {hard: {" + hard + "}}}\n")
	}
	limits := func(item string) string {
		return team("  - {apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: team}, spec: {limits: [{type: Container, " + item + "}]}}\n")
	}
	web := func(resources, spec string) string {
		return "workloads:\n- objects:\n" + `  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: team}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: c, image: c, resources: {` + resources + `}}]` + spec + "}\n"
	}
	for _, c := range []struct {
		name, scenario string
		step           string
		fixes, tried   []string
	}{
		{
			// One of two pods runs. With a half of the quota each both would, but the old pod holds all of it and has to stop first.
			name: "quota", scenario: quota("requests.cpu: 1") + web("requests: {cpu: 1}", ""), step: "workloads",
			fixes: []string{
				"raise ResourceQuota team/q: requests.cpu by 1, to 2 (now 1): 0 (0)",
				"a request of at most 500m cpu (now 1), and let the rollout stop all old pods before it starts new ones: strategy Recreate: 0 (0) none of its pods runs in between",
				"one replica fewer: 1: 0 (0)",
			},
		},
		{
			// The quota has room for two pods, and not for a third, which the rollout starts first. If the new ones ask for 500m, it has: 1 + 1 + 500m.
			name: "surge", scenario: quota("limits.cpu: 2500m") + web("limits: {cpu: 1}", "") + "steps:\n- {name: release, rollout: {target: deploy/web, namespace: team, restart: true}}\n", step: "release",
			fixes: []string{
				"let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1: 0 (0)",
				"raise ResourceQuota team/q: limits.cpu by 500m, to 3 (now 2500m): 0 (0)",
				"a limit of at most 500m cpu in container c (now 1): 0 (0)",
				"one replica fewer: 1: 0 (0)",
			},
		},
		{
			// https://github.com/istio/istio/issues/14835: the running pod has a sidecar that its template lacks, and so has the refused one.
			name: "a sidecar of a webhook", scenario: quota("limits.cpu: 4") + `workloads:
- objects:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: team, uid: d, resourceVersion: "1", annotations: {deployment.kubernetes.io/revision: "1"}}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {cpu: 1}}}]}}}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: team, uid: r, resourceVersion: "2", labels: {app: web, pod-template-hash: "1"}, annotations: {deployment.kubernetes.io/revision: "1", deployment.kubernetes.io/desired-replicas: "2"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]},
     spec: {replicas: 2, selector: {matchLabels: {app: web, pod-template-hash: "1"}}, template: {metadata: {labels: {app: web, pod-template-hash: "1"}}, spec: {containers: [{name: c, image: c, resources: {limits: {cpu: 1}}}]}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: team, resourceVersion: "3", creationTimestamp: "2026-11-01T09:00:00Z", labels: {app: web, pod-template-hash: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]},
     spec: {nodeName: n1, priority: 0, containers: [{name: c, image: c, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}, {name: proxy, image: p, resources: {limits: {cpu: 2}, requests: {cpu: 100m}}}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`, step: "workloads",
			fixes: []string{"raise ResourceQuota team/q: limits.cpu by 2, to 6 (now 4): 0 (0)", "one replica fewer: 1: 0 (0)"},
			tried: []string{"a lower limit of cpu in container c"},
		},
		{
			// The node takes four pods of 1 CPU, so that of nine pods five have no node.
			name: "more than the node", scenario: quota("pods: 8") + "workloads:\n- objects:\n" + `  - {apiVersion: v1, kind: ReplicationController, metadata: {name: web, namespace: team}, spec: {replicas: 9,
       selector: {app: web}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}}}
`, step: "workloads",
			fixes: []string{
				"raise ResourceQuota team/q: pods by 1, to 9 (now 8): 5 (5) 1 pod of it then has no node",
				"5 replicas fewer: 4: 0 (0)",
			},
		},
		{
			name: "a claim that no pod has holds the storage", scenario: quota("requests.storage: 11Gi") +
				"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: ebs.csi.aws.com}\n" +
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: old, namespace: team}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 5Gi}}}}\n" +
				"workloads:\n- objects:\n" + strings.Replace(stateful("storageClassName: gp3, "), "{name: web}", "{name: web, namespace: team}", 1), step: "workloads",
			fixes: []string{
				"raise ResourceQuota team/q: requests.storage by 4Gi, to 15Gi (now 11Gi): 0 (0)",
				"delete claim old of 5Gi, which no pod has: 0 (0) what is on its volume is lost",
			},
		},
		{
			// 4 CPU for two pods.
			name: "no request", scenario: quota("requests.cpu: 4") + web("", ""), step: "workloads",
			fixes: []string{
				"set requests.cpu of at most 2 for c: 0 (0)",
				"create a LimitRange in namespace team that gives containers a request of 2 cpu: 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
		{
			name: "no such priority class", scenario: team("") + web("", ", priorityClassName: vital"), step: "workloads",
			fixes: []string{
				"create PriorityClass vital, with the value that is meant (tried with 0): 0 (0)",
				"no priorityClassName: 0 (0)",
			},
			tried: []string{"fewer replicas"},
		},
		{
			name: "maximum", scenario: limits("max: {cpu: 500m}") + web("requests: {cpu: 100m}, limits: {cpu: 1}", ""), step: "workloads",
			fixes: []string{
				"give its containers a limit of at most 500m cpu (now 1): 0 (0)",
				"set in LimitRange team/l the maximum of cpu for a Container to 1 (now 500m): 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
		{
			// 1000m / 100m = 10 times; at most 4 times is a request of 250m, or a limit of 400m.
			name: "ratio", scenario: limits("maxLimitRequestRatio: {cpu: 4}") + web("requests: {cpu: 100m}, limits: {cpu: 1}", ""), step: "workloads",
			fixes: []string{
				"request at least 250m cpu in container c (now 100m): 0 (0)",
				"lower the limit to 400m cpu in container c (now 1): 0 (0)",
				"set in LimitRange team/l the maxLimitRequestRatio of cpu for a Container to 10 (now 4): 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
		{
			name: "minimum", scenario: limits("min: {cpu: 200m}") + web("requests: {cpu: 100m}", ""), step: "workloads",
			fixes: []string{
				"give its containers a request of at least 200m cpu (now 100m): 0 (0)",
				"set in LimitRange team/l the minimum of cpu for a Container to 100m (now 200m): 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
		{
			name: "default", scenario: limits("default: {cpu: 500m}") + web("requests: {cpu: 700m}", ""), step: "workloads",
			fixes: []string{
				"give its containers a limit of at least 700m cpu, which is the request: 0 (0)",
				"set in LimitRange team/l the default of cpu for a Container to 700m (now 500m): 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
		{
			name: "pod security", scenario: "cluster:\n- objects:\n" + node("n1", "a", "") +
				"  - {apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {pod-security.kubernetes.io/enforce: restricted}}}\n" + web("", ""), step: "workloads",
			fixes: []string{
				"set runAsNonRoot, seccompProfile RuntimeDefault, allowPrivilegeEscalation false and capabilities drop ALL in its pods: 0 (0) its images have to run as another user than root",
				"label namespace team with pod-security.kubernetes.io/enforce=baseline: 0 (0) holds for all new pods of the namespace",
			},
			tried: []string{"fewer replicas"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := simulated(t, c.scenario)
			s, err := findStep(result, c.step)
			if err != nil || len(s.Refused) != 1 {
				t.Fatalf("refused %v, error %v", s.Refused, err)
			}
			refused := FindNotMade(result, Question{Ref: s.Refused[0].Ref, Step: c.step})
			if err := FixRefused(context.Background(), result, refused, Options{}); err != nil {
				t.Fatal(err)
			}
			var fixes []string
			for _, f := range refused[0].Fixes {
				line := fmt.Sprintf("%s: %d (%d)", f.Change, f.Pending, f.OfWorkload)
				for _, price := range f.Price {
					if price != "replaces 1 pod of team/deployment/web that runs" && price != "replaces 2 pods of team/deployment/web that run" {
						line += " " + price
					}
				}
				fixes = append(fixes, line)
			}
			if diff := cmp.Diff(c.fixes, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.tried, refused[0].Tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
		})
	}
}
