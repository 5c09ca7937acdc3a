package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const template = `template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}`

// Objects that an API server of an earlier release has written are read as the present version.
func TestFormerVersions(t *testing.T) {
	for version, rest := range map[string]string{
		"extensions/v1beta1 Deployment":                                   "spec: {" + template + "}",
		"extensions/v1beta1 ReplicaSet":                                   "spec: {" + template + "}",
		"extensions/v1beta1 DaemonSet":                                    "spec: {templateGeneration: 3, " + template + "}",
		"apps/v1beta1 Deployment":                                         "spec: {rollbackTo: {revision: 0}, " + template + "}",
		"apps/v1beta1 StatefulSet":                                        "spec: {serviceName: web, " + template + "}",
		"apps/v1beta2 Deployment":                                         "spec: {selector: {matchLabels: {app: web}}, " + template + "}",
		"apps/v1beta2 ReplicaSet":                                         "spec: {selector: {matchLabels: {app: web}}, " + template + "}",
		"apps/v1beta2 StatefulSet":                                        "spec: {serviceName: web, selector: {matchLabels: {app: web}}, " + template + "}",
		"apps/v1beta2 DaemonSet":                                          "spec: {selector: {matchLabels: {app: web}}, " + template + "}",
		"apps/v1beta2 ControllerRevision":                                 "data: {}, revision: 1",
		"policy/v1beta1 PodDisruptionBudget":                              "spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}",
		"batch/v1beta1 CronJob":                                           "spec: {schedule: '1 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}",
		"batch/v2alpha1 CronJob":                                          "spec: {schedule: '1 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}",
		"node.k8s.io/v1beta1 RuntimeClass":                                "handler: runsc, overhead: {podFixed: {cpu: 250m}}",
		"node.k8s.io/v1alpha1 RuntimeClass":                               "spec: {runtimeHandler: runsc}",
		"scheduling.k8s.io/v1beta1 PriorityClass":                         "value: 5",
		"scheduling.k8s.io/v1alpha1 PriorityClass":                        "value: 5",
		"storage.k8s.io/v1beta1 StorageClass":                             "provisioner: p, volumeBindingMode: WaitForFirstConsumer",
		"storage.k8s.io/v1beta1 CSINode":                                  "spec: {drivers: [{name: d, nodeID: n1, topologyKeys: null}]}",
		"storage.k8s.io/v1beta1 CSIDriver":                                "spec: {attachRequired: false}",
		"storage.k8s.io/v1alpha1 CSIStorageCapacity":                      "storageClassName: s",
		"autoscaling/v2beta2 HorizontalPodAutoscaler":                     "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}",
		"admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy": "spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: 'true'}]}",
	} {
		t.Run(version, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(version, " ")
			set, err := Decode("dump.yaml", []byte("{apiVersion: "+apiVersion+", kind: "+kind+", metadata: {name: web, uid: u, resourceVersion: '7'}, "+rest+"}"))
			if err != nil || len(set.Objects) != 1 || len(set.Flaws) > 0 {
				t.Fatalf("%+v, %v", set, err)
			}
			if obj := set.Objects[0]; cluster.KindOf(obj.Object) != kind || !cluster.Supports(obj.Object) {
				t.Errorf("a %T", obj.Object)
			}
		})
	}
}

// A manifest of such a version is refused, as by an API server of this release.
func TestFormerVersionsOfManifests(t *testing.T) {
	_, err := Decode("m.yaml", []byte("{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: b}}"))
	if want := "m.yaml: PodDisruptionBudget default/b: apiVersion policy/v1beta1 has no PodDisruptionBudget in Kubernetes 1.37; use policy/v1"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func decodeDumped[T cluster.Object](t *testing.T, text string) T {
	t.Helper()
	set, err := Decode("dump.yaml", []byte(text))
	if err != nil || len(set.Objects) != 1 || len(set.Flaws) > 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	return set.Objects[0].Object.(T)
}

// Each version has its own defaults and meanings: an empty selector of a budget of policy/v1beta1 selects no pod.
func TestFormerDefaults(t *testing.T) {
	budget := decodeDumped[*policyv1.PodDisruptionBudget](t, "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: b, resourceVersion: '7'}, spec: {minAvailable: 1, selector: {}}}")
	want := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", Operator: metav1.LabelSelectorOpExists}}}
	if diff := cmp.Diff(want, budget.Spec.Selector); diff != "" {
		t.Errorf("selector of the budget (-want +got):\n%s", diff)
	}
	deployment := decodeDumped[*appsv1.Deployment](t, "{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: d, resourceVersion: '7'}, spec: {"+template+"}}")
	if deployment.Spec.Selector.MatchLabels["app"] != "web" || deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.String() != "1" {
		t.Errorf("Deployment of extensions/v1beta1: %+v", deployment.Spec)
	}
	set := decodeDumped[*appsv1.StatefulSet](t, "{apiVersion: apps/v1beta1, kind: StatefulSet, metadata: {name: s, resourceVersion: '7'}, spec: {serviceName: s, "+template+"}}")
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		t.Errorf("StatefulSet of apps/v1beta1: %+v", set.Spec.UpdateStrategy)
	}
}

// Metrics of autoscaling/v2beta1 have their targets side by side.
func TestFormerMetrics(t *testing.T) {
	hpa := decodeDumped[*autoscalingv2.HorizontalPodAutoscaler](t, `{apiVersion: autoscaling/v2beta1, kind: HorizontalPodAutoscaler, metadata: {name: h, resourceVersion: "7"},
  spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, metrics: [
    {type: Resource, resource: {name: cpu, targetAverageUtilization: 70}},
    {type: Resource, resource: {name: memory, targetAverageValue: 1Gi}},
    {type: Pods, pods: {metricName: rate, targetAverageValue: "5"}},
    {type: Object, object: {metricName: load, target: {apiVersion: v1, kind: Service, name: s}, targetValue: "9"}},
    {type: External, external: {metricName: queue, metricSelector: {matchLabels: {q: a}}, targetValue: "30"}}]},
  status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: [{type: Resource, resource: {name: cpu, currentAverageUtilization: 1, currentAverageValue: 1m}}]}}`)
	var got []string
	for _, metric := range hpa.Spec.Metrics {
		switch {
		case metric.Resource != nil && metric.Resource.Target.AverageUtilization != nil:
			got = append(got, "utilization", string(metric.Resource.Target.Type))
		case metric.Resource != nil:
			got = append(got, metric.Resource.Target.AverageValue.String(), string(metric.Resource.Target.Type))
		case metric.Pods != nil:
			got = append(got, metric.Pods.Metric.Name, metric.Pods.Target.AverageValue.String(), string(metric.Pods.Target.Type))
		case metric.Object != nil:
			got = append(got, metric.Object.Metric.Name, metric.Object.DescribedObject.Name, metric.Object.Target.Value.String(), string(metric.Object.Target.Type))
		case metric.External != nil:
			got = append(got, metric.External.Metric.Name, metric.External.Metric.Selector.MatchLabels["q"], metric.External.Target.Value.String(), string(metric.External.Target.Type))
		}
	}
	want := "utilization Utilization 1Gi AverageValue rate 5 AverageValue load s 9 Value queue a 30 Value"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
