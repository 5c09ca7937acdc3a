package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// object decodes the one object of the text.
func object[T cluster.Object](t *testing.T, text string) T {
	t.Helper()
	obj, err := DecodeObject("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	typed, ok := obj.Object.(T)
	if !ok {
		t.Fatalf("got a %T", obj.Object)
	}
	return typed
}

func TestDeploymentHasDefaults(t *testing.T) {
	d := object[*appsv1.Deployment](t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {limits: {cpu: 1}}}]}
`)
	if d.Namespace != "default" || d.UID == "" || *d.Spec.Replicas != 1 || d.Kind != "" {
		t.Errorf("namespace %q, UID %q, replicas %d, kind %q", d.Namespace, d.UID, *d.Spec.Replicas, d.Kind)
	}
	if got := d.Spec.Strategy.RollingUpdate.MaxSurge.String(); got != "25%" {
		t.Errorf("maxSurge is %s", got)
	}
	pod := d.Spec.Template.Spec
	if pod.SchedulerName != v1.DefaultSchedulerName || pod.RestartPolicy != v1.RestartPolicyAlways {
		t.Errorf("scheduler %q, restart policy %q", pod.SchedulerName, pod.RestartPolicy)
	}
}

func TestPodRequestsWhatItMayUse(t *testing.T) {
	pod := object[*v1.Pod](t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
		"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}]}}`)
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu(); got.Cmp(resource.MustParse("2")) != 0 {
		t.Errorf("requests %s CPUs, not its limit", got)
	}
	if pod.Status.Phase != v1.PodPending || pod.Status.QOSClass != v1.PodQOSBurstable {
		t.Errorf("phase %q, class %q", pod.Status.Phase, pod.Status.QOSClass)
	}
}

func TestNodeMayAllocateItsCapacity(t *testing.T) {
	node := object[*v1.Node](t, `{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 4}}}`)
	if got := node.Status.Allocatable.Cpu(); got.Value() != 4 {
		t.Errorf("allocatable is %s", got)
	}
	if len(node.Labels) != 0 {
		t.Errorf("labels %v were added", node.Labels)
	}
}

func TestPodThatHasANodeRuns(t *testing.T) {
	pod := object[*v1.Pod](t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}`)
	if pod.Status.Phase != v1.PodRunning || pod.Spec.NodeName != "n1" {
		t.Errorf("phase %q on node %q", pod.Status.Phase, pod.Spec.NodeName)
	}
}

func TestLabelKeysAreMerged(t *testing.T) {
	const text = `
apiVersion: v1
kind: Pod
metadata: {name: p, uid: "1", labels: {app: web, rev: a}}
spec:
  containers: [{name: c, image: i}]
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        matchLabelKeys: [rev, none]
        labelSelector: {matchLabels: {app: web}EXPRESSIONS}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [rev], labelSelector: {matchLabels: {app: web}EXPRESSIONS}}
`
	want := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpIn, Values: []string{"a"}}},
	}
	for name, expressions := range map[string]string{
		"manifest": "",
		"dump":     ", matchExpressions: [{key: rev, operator: In, values: [a]}]",
	} {
		t.Run(name, func(t *testing.T) {
			pod := object[*v1.Pod](t, strings.ReplaceAll(text, "EXPRESSIONS", expressions))
			if diff := cmp.Diff(want, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector); diff != "" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, pod.Spec.TopologySpreadConstraints[0].LabelSelector); diff != "" {
				t.Errorf("spread constraint (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJobSelectsItsPods(t *testing.T) {
	job := object[*batchv1.Job](t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`)
	selector, err := metav1.LabelSelectorAsMap(job.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{batchv1.ControllerUidLabel: string(job.UID)}, selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if job.Spec.Template.Labels[batchv1.JobNameLabel] != "j" {
		t.Errorf("template labels are %v", job.Spec.Template.Labels)
	}
}

func TestHeadlessServiceHasClusterIPs(t *testing.T) {
	service := object[*v1.Service](t, `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: None, ports: [{port: 80}]}}`)
	if diff := cmp.Diff([]string{v1.ClusterIPNone}, service.Spec.ClusterIPs); diff != "" {
		t.Errorf("clusterIPs (-want +got):\n%s", diff)
	}
}

func TestOlderVersionIsConverted(t *testing.T) {
	hpa := object[*autoscalingv2.HorizontalPodAutoscaler](t, `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h},
		spec: {maxReplicas: 3, targetCPUUtilizationPercentage: 70, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}`)
	if got := *hpa.Spec.Metrics[0].Resource.Target.AverageUtilization; got != 70 {
		t.Errorf("target is %d%%", got)
	}
}

// A pod as kubectl get -o yaml shows it.
const dumpedPod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-7d4b9c-x2x4z
  namespace: shop
  uid: 3a5dbb3e-5a43-4a4e-8b9a-0f3f1c1ab001
  resourceVersion: "4711"
  creationTimestamp: "2025-03-01T10:00:00Z"
  generateName: web-7d4b9c-
  labels: {app: web, pod-template-hash: 7d4b9c}
  managedFields:
  - {manager: kubelet, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: web-7d4b9c, uid: 3a5dbb3e-5a43-4a4e-8b9a-0f3f1c1ab002, controller: true, blockOwnerDeletion: true}
spec:
  nodeName: n1
  priority: 0
  serviceAccountName: default
  serviceAccount: default
  containers:
  - name: c
    image: nginx
    volumeMounts: [{name: kube-api-access-abcde, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
  ephemeralContainers: [{name: debugger, image: busybox}]
  volumes:
  - name: kube-api-access-abcde
    projected:
      sources:
      - serviceAccountToken: {expirationSeconds: 3607, path: token}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
  tolerations:
  - {effect: NoExecute, key: node.kubernetes.io/not-ready, operator: Exists, tolerationSeconds: 300}
status:
  phase: Failed
  reason: Evicted
  podIP: 10.0.0.7
  podIPs: [{ip: 10.0.0.7}]
  qosClass: BestEffort
  conditions: [{type: Ready, status: "False"}]
`

func TestDumpedPodStaysWhatItWas(t *testing.T) {
	pod := object[*v1.Pod](t, dumpedPod)
	if pod.UID != "3a5dbb3e-5a43-4a4e-8b9a-0f3f1c1ab001" || pod.Name != "web-7d4b9c-x2x4z" || pod.ManagedFields != nil {
		t.Errorf("UID %s, name %s, managed fields %v", pod.UID, pod.Name, pod.ManagedFields)
	}
	if len(pod.OwnerReferences) != 1 || pod.Spec.NodeName != "n1" {
		t.Errorf("owners %v, node %q", pod.OwnerReferences, pod.Spec.NodeName)
	}
	want := v1.PodStatus{
		Phase: v1.PodFailed, Reason: "Evicted", PodIP: "10.0.0.7", PodIPs: []v1.PodIP{{IP: "10.0.0.7"}}, QOSClass: v1.PodQOSBestEffort,
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}},
	}
	if diff := cmp.Diff(want, pod.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// A ControllerRevision holds an earlier version of a StatefulSet or a DaemonSet; no part of it may be lost.
func TestControllerRevisionKeepsItsData(t *testing.T) {
	const data = `{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"image":"nginx","name":"c"}]}}}}`
	revision := object[*appsv1.ControllerRevision](t, `{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "db-1"}, "revision": 3, "data": `+data+`}`)
	if revision.Revision != 3 || string(revision.Data.Raw) != data {
		t.Errorf("revision %d: %s", revision.Revision, revision.Data.Raw)
	}
	for more, want := range map[string]string{
		"":             "test: ControllerRevision default/db-1: data: Required value: data is mandatory",
		`, "data": []`: "test: ControllerRevision default/db-1: data: Required value: data must be a valid JSON object",
	} {
		_, err := DecodeObject("test", []byte(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "db-1"}, "revision": 3`+more+`}`))
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestNewVolumeIsAvailable(t *testing.T) {
	const text = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /d}}STATUS}`
	for status, want := range map[string]v1.PersistentVolumePhase{"": v1.VolumeAvailable, ", status: {phase: Released}": v1.VolumeReleased} {
		if got := object[*v1.PersistentVolume](t, strings.Replace(text, "STATUS", status, 1)).Status.Phase; got != want {
			t.Errorf("phase is %q; want %q", got, want)
		}
	}
}

func TestGeneratedNamesDiffer(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: c, image: i}]}}`
	set, err := Decode("pods.yaml", []byte(pod+"\n---\n"+pod))
	if err != nil {
		t.Fatal(err)
	}
	a, b := set.Objects[0], set.Objects[1]
	if !strings.HasPrefix(a.GetName(), "p-") || len(a.GetName()) == 2 || a.GetName() == b.GetName() || a.GetUID() == b.GetUID() {
		t.Errorf("names %q and %q, UIDs %s and %s", a.GetName(), b.GetName(), a.GetUID(), b.GetUID())
	}
}

func TestDecodeObjectWantsOne(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"none", "# nothing", "scenario.yaml: objects[0]: no Kubernetes object in it; give a file that has at least one"},
		{"ignored", "{apiVersion: v1, kind: ConfigMap}", "scenario.yaml: objects[0]: ConfigMap of v1 takes no part in scheduling; leave it out"},
		{"two", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}",
			"scenario.yaml: objects[0]: 2 objects where one is wanted; give each its own place"},
		{"invalid", "{apiVersion: v1, kind: Namespace, metadata: {name: a, nam: b}}",
			`scenario.yaml: objects[0]: Namespace a: unknown field "metadata.nam"; did you mean "name"?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := DecodeObject("scenario.yaml: objects[0]", []byte(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
