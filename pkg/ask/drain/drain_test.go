package drain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// deployment returns a Deployment web with the number of replicas and more of the pods' spec, then budgets for its pods.
func deployment(replicas int, cpu, spec string, budgets ...string) string {
	text := fmt.Sprintf(`  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: %d
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: c, image: c, resources: {requests: {cpu: %s}}}]%s}
`, replicas, cpu, spec)
	for i, budget := range budgets {
		text += fmt.Sprintf("  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b%d}, spec: {%s, selector: {matchLabels: {app: web}}}}\n", i+1, budget)
	}
	return text
}

// TestFixes drains w-1 of nodes w-1 and w-2 with 2 CPU each.
func TestFixes(t *testing.T) {
	const apart = ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}"
	for name, test := range map[string]struct {
		objects string
		fixes   []string
	}{
		"it ends": {deployment(2, "100m", ""), nil},
		"one replica, which the budget needs": {deployment(1, "100m", "", "minAvailable: 1"), []string{
			"run 2 replicas of deployment/web (now 1): 0",
			"set maxUnavailable: 1 in poddisruptionbudget/b1 (now minAvailable 1): 0",
			"cordon w-1, then delete pod web-74f9c49c5-hwr8c, which asks no budget: 0",
		}},
		"two budgets for the same pods": {deployment(2, "100m", apart, "maxUnavailable: 1", "minAvailable: 1"), []string{
			"delete poddisruptionbudget/b2, and keep poddisruptionbudget/b1: the API server evicts no pod with several budgets: 1",
			"delete poddisruptionbudget/b1, and keep poddisruptionbudget/b2: the API server evicts no pod with several budgets: 1",
			"cordon w-1, then delete pod web-855cddbf79-rp9jv, which asks no budget: 1",
		}},
		"a bare pod": {"  - {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: w-1, containers: [{name: c, image: c}]}}\n", []string{
			"kubectl drain with --force: 0",
		}},
		"a bare pod with local storage, of which kubectl names one obstacle": {"  - {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: w-1, volumes: [{name: d, emptyDir: {}}], containers: [{name: c, image: c}]}}\n", []string{
			"kubectl drain with --delete-emptydir-data and --force: 0",
		}},
		"a local volume": {"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n" +
			"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [w-1]}]}]}}}}\n" +
			"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}}\n" +
			deployment(1, "100m", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"), []string{
			"uncordon w-1 when the work there is done: web-844b447d77-wrnqn comes back: 0",
		}},
		"a controller that is not there, which may not scale": {`  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b1}, spec: {minAvailable: 1, selector: {matchLabels: {app: im}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: im-1, labels: {app: im}, ownerReferences: [{apiVersion: longhorn.io/v1beta2, kind: InstanceManager, name: im-1, uid: im, controller: true}]}, spec: {nodeName: w-1, containers: [{name: c, image: c}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`, []string{
			"set minAvailable: 0 in poddisruptionbudget/b1 (now minAvailable 1): 0",
			"cordon w-1, then delete pod im-1, which asks no budget: 0",
		}},
		"the evicted pod has no other node": {deployment(2, "100m", apart), []string{
			"one more node like w-1: 0",
		}},
		// w-1 has no pod then, and w-2 may have one more than that.
		"the drained node counts in the spread": {deployment(2, "100m", ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"), []string{
			"set nodeTaintsPolicy: Honor in the spread of deployment/web: 0",
			"one more node like w-1: 0",
		}},
		// A second replica may not become ready either, so that none is advised.
		"a budget that waits for a pod that is not ready": {deployment(1, "100m", "", "minAvailable: 1") +
			"steps:\n- {name: crash, patch: {target: pod/web-74f9c49c5-hwr8c, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n", []string{
			"set unhealthyPodEvictionPolicy: AlwaysAllow in poddisruptionbudget/b1: 0",
			"cordon w-1, then delete pod web-74f9c49c5-hwr8c, which asks no budget: 0",
		}},
		// One of two pods is ready. A budget that wants one lets the other go.
		"a budget that wants more pods than are ready": {deployment(2, "100m", apart, "minAvailable: 2") +
			"steps:\n- {name: crash, patch: {target: pod/web-855cddbf79-rp9jv, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n", []string{
			"set maxUnavailable: 1 in poddisruptionbudget/b1 (now minAvailable 2): 1",
			"set unhealthyPodEvictionPolicy: AlwaysAllow in poddisruptionbudget/b1: 1",
			"set minAvailable: 1 in poddisruptionbudget/b1 (now 2): 1",
			"cordon w-1, then delete pod web-855cddbf79-rp9jv, which asks no budget: 1",
		}},
		// The pod on w-2 is the one that the budget allows to be missing.
		"a budget that a pod on another node uses up": {deployment(2, "100m", "", "maxUnavailable: 1") +
			"steps:\n- {name: crash, patch: {target: pod/web-74f9c49c5-k8fwx, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n", []string{
			"let pod web-74f9c49c5-k8fwx on w-2 become Ready: it uses the budget up, and its log says why: 0",
			"set maxUnavailable: 2 in poddisruptionbudget/b1 (now maxUnavailable 1): 0",
			"cordon w-1, then delete pod web-74f9c49c5-hwr8c, which asks no budget: 0",
		}},
		// Two of three pods run, as many as the budget needs. With one node more the third runs, and there is room for the evicted one.
		"a budget that waits for a Pending pod": {deployment(3, "1500m", "", "minAvailable: 2"), []string{
			"one more node like w-1: 0",
			"set maxUnavailable: 2 in poddisruptionbudget/b1 (now minAvailable 2): 1",
			"cordon w-1, then delete pod web-64c59f79d5-5dh92, which asks no budget: 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var file scenario.File
			text := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- synthetic: {nodeGroups: [{name: w, count: 2, cpu: 2, memory: 4Gi}]}\nworkloads:\n- objects:\n" + test.objects
			if err := yaml.UnmarshalStrict([]byte(text), &file); err != nil {
				t.Fatal(err)
			}
			s, err := loader.New("test", &file)
			if err != nil {
				t.Fatal(err)
			}
			result, err := simulation.Run(t.Context(), s, simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			fixes, _, err := Fixes(t.Context(), result, []string{"w-1"}, world.DrainOptions{DrainOptions: node.DrainOptions{IgnoreDaemonSets: true}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, fix := range fixes {
				got = append(got, fmt.Sprintf("%s: %d", fix.Change, fix.Pending))
			}
			if diff := cmp.Diff(test.fixes, got); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
		})
	}
}
