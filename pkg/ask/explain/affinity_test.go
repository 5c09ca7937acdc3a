package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rules about other pods, and a local volume whose node is gone.
func TestFixesOfOtherPods(t *testing.T) {
	const local = `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /d},
     nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}}
`
	for _, c := range []struct {
		name, cluster, workload, steps string
		step                           string
		fix                            string // the first
	}{
		{
			name:    "an affinity that does not look in the namespace of its pods",
			cluster: node("n1", "a", "") + "  - {apiVersion: v1, kind: Namespace, metadata: {name: caches}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}") +
				"  - {apiVersion: v1, kind: Pod, metadata: {name: cache, namespace: caches, labels: {app: cache}}, spec: {containers: [{name: c, image: c}]}}\n",
			step: "workloads",
			fix:  "namespaces: [default, caches] in the required affinity over kubernetes.io/hostname, which looks in namespace default alone: 0 (0) n1",
		},
		{
			name:    "the anti-affinity of another workload, whose old pods keep its new ones away until they stop",
			cluster: node("n1", "a", ""),
			workload: `  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: lone}, spec: {replicas: 1, selector: {matchLabels: {app: lone}}, template: {metadata: {labels: {app: lone}}, spec: {containers: [{name: c, image: c}],
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: [{key: app, operator: In, values: [lone, web]}]}}]}}}}}}
`,
			steps: "\n- {name: web, apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}]}}\n",
			step:  "web",
			fix: "in deployment/lone, make the required anti-affinity over kubernetes.io/hostname preferred (app in (lone,web)), " +
				"and let its rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1: 0 (0) n1",
		},
		{
			name:    "a local volume of a node that is gone",
			cluster: node("n1", "a", "") + node("n2", "a", "") + local,
			workload: "  - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {serviceName: web, replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}, " +
				"volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}}]}}\n",
			steps: "\n- {name: gone, fail: {names: [n1], mode: deleted}}\n", step: "gone",
			fix: "create a local volume of 1Gi on n2, and delete pod web-0 and its claim d-web-0, whose new one gets the volume: 0 (0) n2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := ""
			if c.steps != "" {
				steps = "steps:" + c.steps
			}
			fixes, _ := listFixes(t, simulated(t, "cluster:\n- objects:\n"+c.cluster+"workloads:\n- objects:\n"+c.workload+steps), c.step)
			if len(fixes) == 0 {
				t.Fatal("nothing helps")
			}
			if diff := cmp.Diff(c.fix, fixes[0]); diff != "" {
				t.Errorf("first fix (-want +got):\n%s", diff)
			}
		})
	}
}
