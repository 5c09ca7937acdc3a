//go:build live

package live

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fault is an edit of the charts in testdata/charts that makes one of them wrong. found are the findings of lint, as "check kind/name", and the
// workloads with Pending pods, as "pending kind/name". gate is the first line of the gate on the edit.
type fault struct {
	name, chart string
	edits       []edit
	found       []string
	gate        string
}

// Lint finds each fault at its object and nothing besides, and the gate names the workload and the reason. Lint finds nothing in the charts as
// they are: a Deployment with an autoscaler, a budget and a Service; a StatefulSet with volumes and a rule over zones; two parts with
// anti-affinity, with hooks.
func TestChartFaults(t *testing.T) {
	buildTools(t)
	for _, chart := range []string{"web", "store", "search"} {
		faults = append(faults, fault{name: "no fault", chart: chart, gate: "✅ nothing is worse than in the base"})
	}
	for _, f := range faults {
		t.Run(f.chart+" "+f.name, func(t *testing.T) {
			t.Parallel()
			repo := commit(t, "testdata/charts", "testdata/monorepo")
			for _, e := range f.edits {
				e.apply(t, repo)
			}
			render := "helm template shop " + f.chart
			if diff := cmp.Diff(f.found, lintChart(t, repo, render)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if got, _, problems := runGate(t, repo, render); got != f.gate {
				t.Errorf("got  %s\nwant %s\n%s", got, f.gate, problems)
			}
		})
	}
}

// lintChart returns what lint finds in the objects that a command prints.
func lintChart(t *testing.T, repo, render string) (found []string) {
	t.Helper()
	shell := exec.Command("sh", "-c", render+" | simulate lint --cluster nodes.yaml -f - -o json --fail-on none")
	shell.Dir = repo
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	type object struct{ Check, Kind, Name string }
	var report struct{ Findings, Pending []object }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		found = append(found, f.Check+" "+strings.ToLower(f.Kind)+"/"+f.Name)
	}
	for _, p := range report.Pending {
		found = append(found, "pending "+strings.ToLower(p.Kind)+"/"+p.Name)
	}
	return found
}

var faults = []fault{
	{"no fault but another config, of which the pods have the checksum", "web", []edit{{"web/values.yaml", "greeting: hello", "greeting: bye"}},
		nil,
		"✅ nothing is worse than in the base; a rollout replaces the pods of shop-web"},
	{"topology key that no node has", "web", []edit{{"web/values.yaml", "key: topology.kubernetes.io/zone", "key: topology.kubernetes.io/zones"}},
		[]string{"topology-label-missing deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, 6 nodes lack the label topology.kubernetes.io/zones, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{"node selector with a typo", "web", []edit{{"web/values.yaml", "pool: general", "pool: genral"}},
		[]string{"no-node-takes-pods deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, no node has pool=genral"},
	{"node affinity that no node meets", "web", []edit{{"web/templates/web.yaml", "nodeSelector: {pool: {{ .Values.pool }}}", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}"}},
		[]string{"no-node-takes-pods deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, no node has disk=ssd"},
	{"cpu above every node", "web", []edit{{"web/values.yaml", "cpu: 500m", `cpu: "16"`}},
		[]string{"request-above-nodes deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, 16 cpu asked and at most 8 free on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{"memory above every node", "store", []edit{{"store/templates/store.yaml", "memory: 4Gi", "memory: 400Gi"}},
		[]string{"request-above-nodes statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 3 pods Pending and 2 not created, 400Gi memory asked and at most 64Gi free on 3 nodes, 6 nodes lack pool=db"},
	{"device that no node has", "web", []edit{{"web/templates/web.yaml", "memory: {{ .Values.memory }}}", "memory: {{ .Values.memory }}, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}"}},
		[]string{"request-above-nodes deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, nvidia.com/gpu asked and none on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{"no cpu request", "web", []edit{{"web/templates/web.yaml", "cpu: {{ .Values.cpu }}, ", ""}},
		[]string{"requests-missing deployment/shop-web"},
		"⚠️ shop-web: container web requests no cpu"},
	{"toleration missing", "store", []edit{{"store/templates/store.yaml", "      tolerations: [{key: pool, value: db, effect: NoSchedule}]\n", ""}},
		[]string{"no-node-takes-pods statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 3 pods Pending and 2 not created, untolerated taint pool=db:NoSchedule on 3 nodes, 6 nodes lack pool=db"},
	{"toleration of another value", "store", []edit{{"store/templates/store.yaml", "value: db, effect", "value: dbs, effect"}},
		[]string{"no-node-takes-pods statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 3 pods Pending and 2 not created, untolerated taint pool=db:NoSchedule on 3 nodes, 6 nodes lack pool=db"},
	{"budget with maxUnavailable 0", "web", []edit{{"web/values.yaml", "maxUnavailable: 1", "maxUnavailable: 0"}},
		[]string{"budget-forbids-eviction poddisruptionbudget/shop-web"},
		"❌ shop-web: drains never end, its budget allows 0 evictions"},
	{"budget with minAvailable 100%", "store", []edit{{"store/values.yaml", "minAvailable: 2", "minAvailable: 100%"}},
		[]string{"budget-forbids-eviction poddisruptionbudget/shop-store"},
		"❌ shop-store: drains never end, its budget allows 0 evictions"},
	{"budget of as many pods as replicas", "store", []edit{{"store/values.yaml", "minAvailable: 2", "minAvailable: 3"}},
		[]string{"budget-forbids-eviction poddisruptionbudget/shop-store"},
		"❌ shop-store: drains never end, its budget allows 0 evictions"},
	{"budget that one zone breaks", "store", []edit{{"store/values.yaml", "replicas: 3", "replicas: 6"}, {"store/values.yaml", "minAvailable: 2", "maxUnavailable: 1"}, {"store/templates/store.yaml", "minAvailable: {{ .Values.minAvailable }}", "maxUnavailable: {{ .Values.maxUnavailable }}"}},
		[]string{"budget-broken-by-zone poddisruptionbudget/shop-store"},
		"⚠️ shop-store: zone eu-a holds 2 of its 6 pods, and their loss breaks its budget (maxUnavailable 1)"},
	{"budget that selects nothing", "web", []edit{{"web/templates/web.yaml", "  selector:\n    matchLabels: {app: web}\n---\napiVersion: v1", "  selector:\n    matchLabels: {app: wbe}\n---\napiVersion: v1"}},
		[]string{"budget-missing deployment/shop-web", "budget-selects-nothing poddisruptionbudget/shop-web"},
		"⚠️ shop-web: no budget covers its 3 replicas; poddisruptionbudget/shop-web: no pod has the labels app=wbe, so that the budget protects nothing"},
	{"two budgets on one pod", "web", []edit{{"web/templates/pdb.yaml", "", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all}\nspec: {maxUnavailable: 1, selector: {matchExpressions: [{key: app, operator: Exists}]}}\n"}},
		[]string{"budgets-overlap deployment/shop-web"},
		"❌ shop-web: drains never end, several budgets select its pods"},
	{"no budget", "web", []edit{{"web/templates/web.yaml", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: {{ .Release.Name }}-web\nspec:\n  maxUnavailable: {{ .Values.maxUnavailable }}\n  selector:\n    matchLabels: {app: web}\n---\n", ""}},
		[]string{"budget-missing deployment/shop-web"},
		"⚠️ shop-web: no budget covers its 3 replicas"},
	{"autoscaler without its target", "web", []edit{{"web/templates/web.yaml", "kind: Deployment, name: {{ .Release.Name }}-web}", "kind: Deployment, name: web}"}},
		[]string{"one-replica deployment/shop-web", "autoscaler-target-missing horizontalpodautoscaler/shop-web"},
		"❌ shop-web: 1 replica is left of 3; horizontalpodautoscaler/shop-web: there is no deployment/web to scale, so that the autoscaler does nothing"},
	{"two autoscalers of one workload", "web", []edit{{"web/templates/hpa.yaml", "", "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: more}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}-web}\n  minReplicas: 3\n  maxReplicas: 6\n  metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 70}}}]\n"}},
		[]string{"autoscalers-overlap deployment/shop-web"},
		"❌ shop-web: it is not scaled any more, since the autoscalers more and shop-web exclude each other"},
	{"autoscaler with a target of another kind", "web", []edit{{"web/templates/web.yaml", "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment", "scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet"}},
		[]string{"one-replica deployment/shop-web", "autoscaler-target-missing horizontalpodautoscaler/shop-web"},
		"❌ shop-web: 1 replica is left of 3; horizontalpodautoscaler/shop-web: there is no statefulset/shop-web to scale, so that the autoscaler does nothing"},
	{"replicas beside an autoscaler", "web", []edit{{"web/templates/web.yaml", "spec:\n  selector", "spec:\n  replicas: 3\n  selector"}},
		[]string{"replicas-set-twice deployment/shop-web"},
		"⚠️ shop-web: the manifest has replicas: 3, and the HorizontalPodAutoscaler shop-web sets it between 3 and 6: each apply resets it to 3"},
	{"Service that selects nothing", "web", []edit{{"web/templates/web.yaml", "  selector: {app: web}\n", "  selector: {app: webs}\n"}},
		[]string{"service-selects-nothing service/shop-web"},
		"⚠️ service/shop-web: no pod has the labels app=webs, so that the Service leads nowhere"},
	{"headless Service that selects nothing", "store", []edit{{"store/templates/store.yaml", "  selector: {app: store}\n", "  selector: {app: stores}\n"}},
		[]string{"service-selects-nothing service/shop-store"},
		"⚠️ service/shop-store: no pod has the labels app=stores, so that the Service leads nowhere"},
	{"spread that does not count its pods", "web", []edit{{"web/templates/web.yaml", "labelSelector: {matchLabels: {app: web}}", "labelSelector: {matchLabels: {app: shop}}"}},
		[]string{"spread-selector-misses-pods deployment/shop-web", "budget-broken-by-zone poddisruptionbudget/shop-web"},
		"❌ shop-web: its spread over topology.kubernetes.io/zone selects app=shop, which its own pods lack"},
	{"spread over old and new pods", "web", []edit{{"web/templates/web.yaml", "        matchLabelKeys: [pod-template-hash]\n", ""}},
		[]string{"match-label-keys-missing deployment/shop-web"},
		"⚠️ shop-web: a rollout leaves its pods skewed by 2 over topology.kubernetes.io/zone in 12 of 40 runs with random ties, though maxSkew is 1"},
	{"no spread", "web", []edit{{"web/templates/web.yaml", "      topologySpreadConstraints:\n      - maxSkew: {{ .Values.spread.maxSkew }}\n        topologyKey: {{ .Values.spread.key }}\n        whenUnsatisfiable: DoNotSchedule\n        matchLabelKeys: [pod-template-hash]\n        labelSelector: {matchLabels: {app: web}}\n", ""}},
		[]string{"rule-missing deployment/shop-web"},
		"⚠️ shop-web: drops spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule"},
	{"maxSkew 3", "web", []edit{{"web/values.yaml", "maxSkew: 1", "maxSkew: 3"}},
		[]string{"budget-broken-by-zone poddisruptionbudget/shop-web"},
		"❌ shop-web: a zone takes 2 of 3 (1 if spread evenly)"},
	{"minDomains above the zones", "store", []edit{{"store/values.yaml", "minDomains: 3", "minDomains: 4"}, {"store/values.yaml", "replicas: 3", "replicas: 6"}},
		[]string{"min-domains-above-domains statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 6 pods Pending and 2 not created, the spread over topology.kubernetes.io/zone allows none of 3 nodes, 6 nodes lack pool=db"},
	{"one zone and minDomains 3", "store", []edit{{"store/templates/store.yaml", "nodeSelector: {pool: db}", "nodeSelector: {pool: db, topology.kubernetes.io/zone: eu-a}"}},
		[]string{"min-domains-above-domains statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 3 pods Pending and 1 not created, the spread over topology.kubernetes.io/zone allows none of 1 node, 8 nodes lack pool=db"},
	{"skew that a zone without nodes makes impossible", "store", []edit{{"store/values.yaml", "replicas: 3", "replicas: 6"}, {"nodes.yaml", "{name: db-c, labels: {kubernetes.io/hostname: db-c, topology.kubernetes.io/zone: eu-c, topology.kubernetes.io/region: eu, pool: db}}\nspec: {taints: [{key: pool, value: db, effect: NoSchedule}]}", "{name: db-c, labels: {kubernetes.io/hostname: db-c, topology.kubernetes.io/zone: eu-c, topology.kubernetes.io/region: eu, pool: db}}\nspec: {unschedulable: true, taints: [{key: pool, value: db, effect: NoSchedule}]}"}},
		[]string{"unusable-domains statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: 1 of 6 pods Pending and 3 not created, the spread over topology.kubernetes.io/zone allows none of 2 nodes, 1 node is cordoned"},
	{"nodes without a zone", "web", []edit{{"nodes.yaml", "general-c1, topology.kubernetes.io/zone: eu-c", "general-c1"}, {"nodes.yaml", "general-c2, topology.kubernetes.io/zone: eu-c", "general-c2"}},
		[]string{"topology-label-missing deployment/shop-web", "budget-broken-by-zone poddisruptionbudget/shop-web"},
		"❌ shop-web: a zone takes 2 of 3 (1 if spread evenly)"},
	{"one replica", "search", []edit{{"search/values.yaml", "query: {replicas: 2", "query: {replicas: 1"}},
		[]string{"one-replica deployment/shop-query", "hard-rule-on-one-replica deployment/shop-query"},
		"❌ shop-query: 1 replica is left of 2"},
	{"storage class with a typo", "store", []edit{{"store/values.yaml", "storageClass: fast", "storageClass: fats"}},
		[]string{"claim-without-class statefulset/shop-store", "pending statefulset/shop-store"},
		"❌ shop-store: spec.volumeClaimTemplates: field is immutable; delete it first, or give it another name"},
	{"volumes before pods", "store", []edit{{"store/templates/store.yaml", "WaitForFirstConsumer", "Immediate"}},
		[]string{"zonal-volumes statefulset/shop-store"},
		"❌ storageclass/fast: volumeBindingMode: field is immutable; delete it first, or give it another name; shop-store: StorageClass fast makes volumes of ebs.csi.aws.com at once, in any zone, and the pods can then run nowhere else, whatever their rule over zones says"},
	{"volume in a zone without such nodes", "store", []edit{{"store/values.yaml", "storageClass: fast", "storageClass: disk"}, {"store/templates/disks.yaml", "", "{{- range list \"eu-a\" \"eu-b\" \"eu-d\" }}\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk-{{ . }}}\nspec:\n  capacity: {storage: 20Gi}\n  accessModes: [ReadWriteOnce]\n  storageClassName: disk\n  local: {path: /disk}\n  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [{{ . }}]}]}]}}\n---\n{{- end }}\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disk}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n"}},
		[]string{"pending statefulset/shop-store"},
		"❌ shop-store: spec.volumeClaimTemplates: field is immutable; delete it first, or give it another name"},
	{"claim that does not exist", "web", []edit{{"web/templates/web.yaml", "      containers:\n", "      volumes: [{name: uploads, persistentVolumeClaim: {claimName: uploads}}]\n      containers:\n"}},
		[]string{"pending deployment/shop-web"},
		"❌ shop-web: 3 of 3 pods Pending, there is no claim uploads in namespace default"},
	{"priority class that does not exist", "store", []edit{{"store/templates/store.yaml", "priorityClassName: {{ .Release.Name }}-store", "priorityClassName: store"}},
		[]string{"pods-refused statefulset/shop-store"},
		"❌ shop-store: the API server refuses each of its pods: no PriorityClass with name store was found"},
	{"more replicas than zones", "search", []edit{{"search/values.yaml", "query: {replicas: 2", "query: {replicas: 4"}},
		[]string{"more-replicas-than-domains deployment/shop-query", "pending deployment/shop-query"},
		"❌ shop-query: 1 of 4 pods Pending, anti-affinity over topology.kubernetes.io/zone keeps it off 6 nodes"},
	{"more replicas than nodes", "search", []edit{{"search/values.yaml", "index: {replicas: 3", "index: {replicas: 7"}},
		[]string{"more-replicas-than-domains deployment/shop-index", "pending deployment/shop-index", "pending deployment/shop-query"},
		"❌ shop-index: 3 of 7 pods Pending when the change is applied to what runs, anti-affinity over kubernetes.io/hostname keeps it off 2 nodes; shop-query: 2 of 2 pods Pending, anti-affinity over kubernetes.io/hostname keeps it off 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{"host port on fewer nodes than pods", "web", []edit{{"web/templates/web.yaml", "containerPort: 8080", "containerPort: 8080, hostPort: 8080"}, {"web/values.yaml", "min: 3, max: 6", "min: 8, max: 9"}},
		[]string{"more-replicas-than-host-ports deployment/shop-web", "pending deployment/shop-web"},
		"❌ shop-web: 2 of 8 pods Pending, host port 8080 is taken on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{"rollout without room", "search", []edit{{"search/values.yaml", "surge: 0", "surge: 1"}, {"search/templates/index.yaml", "maxUnavailable: 1}}", "maxUnavailable: 0}}"}},
		[]string{"rollout-deadlock deployment/shop-index"},
		"❌ shop-index: a rollout never ends, at 2 of 3 updated: anti-affinity over kubernetes.io/hostname keeps it off 2 nodes"},
	{"anti-affinity to a part with a typo", "search", []edit{{"search/templates/query.yaml", "                app.kubernetes.io/component: index", "                app.kubernetes.io/component: indx"}},
		[]string{"reference-resolves-to-nothing deployment/shop-query"},
		`⚠️ shop-query: its required anti-affinity over kubernetes.io/hostname selects no pod, so that it has no effect; did you mean "index"?`},
	{"anti-affinity that misses its own pods", "search", []edit{{"search/templates/query.yaml", "                app.kubernetes.io/component: query", "                app.kubernetes.io/component: frontend"}},
		[]string{"selector-drift deployment/shop-query"},
		"❌ shop-query: its required anti-affinity over topology.kubernetes.io/zone selects no pod"},
	{"affinity to nothing", "search", []edit{{"search/templates/query.yaml", "podAntiAffinity", "podAffinity"}, {"search/templates/query.yaml", "                app.kubernetes.io/component: index", "                app.kubernetes.io/component: indx"}},
		[]string{"reference-resolves-to-nothing deployment/shop-query", "pending deployment/shop-query"},
		"❌ shop-query: 2 of 2 pods Pending, 6 nodes have no pod with app.kubernetes.io/component=query,app.kubernetes.io/instance=shop,app.kubernetes.io/name=search"},
	{"namespace that does not exist", "search", []edit{{"search/templates/index.yaml", "          - topologyKey: kubernetes.io/hostname\n", "          - topologyKey: kubernetes.io/hostname\n            namespaces: [searhc]\n"}, {"search/templates/namespace.yaml", "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: search}\n"}},
		[]string{"reference-resolves-to-nothing deployment/shop-index", "namespace-missing deployment/shop-index"},
		"⚠️ shop-index: its required anti-affinity over kubernetes.io/hostname selects no pod, so that it has no effect"},
	{"Service that also selects a Job", "search", []edit{{"search/templates/hooks.yaml", "  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: before-hook-creation}\n", ""}, {"search/templates/query.yaml", "    app.kubernetes.io/component: query\n  ports", "  ports"}},
		[]string{"job-pods-match-selector deployment/shop-index", "job-pods-match-selector deployment/shop-query", "requests-missing job/shop-schema"},
		"⚠️ shop-index: Service shop-query of deployment/shop-index sends requests to the pods of job/shop-schema, too, and the default spreading counts them; shop-query: Service shop-query of deployment/shop-query sends requests to the pods of job/shop-schema, too, and the default spreading counts them; shop-schema: container schema requests neither cpu nor memory"},
	{"quota below the request", "web", []edit{{"web/templates/quota.yaml", "", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {requests.cpu: \"1\"}}\n"}},
		[]string{"pods-refused deployment/shop-web"},
		"❌ shop-web: the API server refuses 1 pod of it: exceeded quota: team, requested: requests.cpu=500m, used: requests.cpu=1, limited: requests.cpu=1"},
	{"limit range below the request", "web", []edit{{"web/templates/limits.yaml", "", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: team}\nspec: {limits: [{type: Container, max: {cpu: 100m}}]}\n"}},
		[]string{"pods-refused deployment/shop-web"},
		`❌ shop-web: the API server refuses each of its pods: spec.containers\[0\].resources.requests: Invalid value: "500m": must be less than or equal to cpu limit of 100m`},
	{"ignored without a reason", "web", []edit{{"web/templates/web.yaml", "  labels: {app: web}\nspec:\n  selector", "  labels: {app: web}\n  annotations: {lint.faultline.dev/ignore: one-replica}\nspec:\n  selector"}},
		[]string{"ignore-without-reason deployment/shop-web"},
		"⚠️ shop-web: one-replica is ignored without a reason, and so is not"},
}
