package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// brief describes an object in one line: kind, name and replicas, container requests, claims, and how its pods are placed.
func brief(obj manifest.Object) string {
	pods := func(spec v1.PodSpec) string {
		var parts []string
		for _, c := range append(append([]v1.Container(nil), spec.InitContainers...), spec.Containers...) {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Name, c.Resources.Requests.Cpu(), c.Resources.Requests.Memory())))
		}
		if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			for _, t := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
				parts = append(parts, fmt.Sprintf("-%d %s", t.Weight, t.PodAffinityTerm.TopologyKey))
			}
			for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				parts = append(parts, "-required "+t.TopologyKey)
			}
		}
		if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
			for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				parts = append(parts, fmt.Sprintf("at %s %s", t.MatchExpressions[0].Key, t.MatchExpressions[0].Operator))
			}
		}
		for _, t := range spec.Tolerations {
			parts = append(parts, "tolerates "+t.Key)
		}
		return strings.Join(parts, ", ")
	}
	switch o := obj.Object.(type) {
	case *appsv1.StatefulSet:
		line := fmt.Sprintf("StatefulSet %s %s %d: %s", o.Name, o.Spec.PodManagementPolicy, *o.Spec.Replicas, pods(o.Spec.Template.Spec))
		for _, claim := range o.Spec.VolumeClaimTemplates {
			line += fmt.Sprintf(", claim %s %s", claim.Name, claim.Spec.Resources.Requests.Storage())
		}
		return line
	case *appsv1.Deployment:
		return fmt.Sprintf("Deployment %s %d %s/%s: %s", o.Name, *o.Spec.Replicas, o.Spec.Strategy.RollingUpdate.MaxSurge, o.Spec.Strategy.RollingUpdate.MaxUnavailable, pods(o.Spec.Template.Spec))
	case *policyv1.PodDisruptionBudget:
		return fmt.Sprintf("PodDisruptionBudget %s %s", o.Name, o.Spec.MaxUnavailable)
	}
	return fmt.Sprintf("%T", obj.Object)
}

func TestShipped(t *testing.T) {
	prometheus := "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: k8s}\nspec: "
	alertmanager := "apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {name: main}\nspec: "
	postgres := "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\nspec: "
	pool := "apiVersion: kafka.strimzi.io/v1\nkind: KafkaNodePool\nmetadata: {name: broker, labels: {strimzi.io/cluster: my}}\nspec: "
	kafka := "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: my}\nspec: "
	rollout := "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec: "
	const reloaders = "init-config-reloader 10m 50Mi, "
	for _, tt := range []struct {
		name, text string
		want       []string
		notes      []string
	}{
		{"Prometheus as it is", prometheus + "{}", []string{"StatefulSet prometheus-k8s Parallel 1: " + reloaders + "prometheus 0 0, config-reloader 10m 50Mi"}, nil},
		{"Prometheus", prometheus + `
  replicas: 2
  resources: {requests: {memory: 400Mi}}
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}
  containers: [{name: prometheus, resources: {requests: {cpu: 1}}}, {name: extra, image: x}]
  storage: {volumeClaimTemplate: {spec: {storageClassName: fast, resources: {requests: {storage: 40Gi}}}}}
  thanos: {resources: {requests: {cpu: 200m}}}
  tolerations: [{key: a, operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, additionalLabelSelectors: OnResource}]
  serviceMonitorSelector: {}
  shards: 2
`, []string{"StatefulSet prometheus-k8s Parallel 2: " + reloaders + "prometheus 1 400Mi, config-reloader 10m 50Mi, thanos-sidecar 200m 0, extra 0 0, -required zone, tolerates a, claim data 40Gi"},
			[]string{`Prometheus default/k8s: unknown field "spec.template.spec.topologySpreadConstraints[0].additionalLabelSelectors"; the API server would leave it out`,
				"Prometheus default/k8s: assumed: one shard alone is made of spec.shards"}},
		{"Alertmanager", alertmanager + "{replicas: 3, resources: {requests: {cpu: 4m}}}",
			[]string{"StatefulSet alertmanager-main Parallel 3: " + reloaders + "alertmanager 4m 200Mi, config-reloader 10m 50Mi"}, nil},
		{"CloudNativePG", postgres + "{instances: 3, storage: {size: 20Gi}, resources: {requests: {cpu: 2}}}",
			[]string{"StatefulSet pg OrderedReady 3: postgres 2 0, -100 kubernetes.io/hostname, claim pgdata 20Gi"}, []string{"Cluster default/pg: assumed: the instances are shown as a StatefulSet"}},
		{"CloudNativePG over zones, with a rule of its own", postgres + "{instances: 2, storage: {size: 1Gi}, walStorage: {size: 2Gi}, affinity: {podAntiAffinityType: required, topologyKey: zone, tolerations: [{key: pg, operator: Exists}], " +
			"additionalPodAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: {topologyKey: rack, labelSelector: {}}}]}}}",
			[]string{"StatefulSet pg OrderedReady 2: postgres 0 0, -5 rack, -required zone, tolerates pg, claim pgdata 1Gi, claim wal 2Gi"}, []string{"Cluster default/pg: assumed: the instances are shown as a StatefulSet"}},
		{"CloudNativePG without", postgres + "{instances: 2, storage: {size: 1Gi}, affinity: {enablePodAntiAffinity: false}}",
			[]string{"StatefulSet pg OrderedReady 2: postgres 0 0, claim pgdata 1Gi"}, []string{"Cluster default/pg: assumed: the instances are shown as a StatefulSet"}},
		{"a node pool", pool + "{replicas: 3, roles: [broker], storage: {type: jbod, volumes: [{id: 0, type: persistent-claim, size: 100Gi}]}, resources: {requests: {cpu: 1}}, template: {pod: {tolerations: [{key: k, operator: Exists}]}}}",
			[]string{"StatefulSet my-broker Parallel 3: kafka 1 0, tolerates k, claim data 100Gi"}, []string{"KafkaNodePool default/broker: assumed: the nodes are shown as a StatefulSet"}},
		{"Kafka of node pools", strings.Replace(kafka, "v1beta2", "v1", 1) + "{kafka: {}, entityOperator: {topicOperator: {resources: {requests: {cpu: 50m}}}}}",
			[]string{"PodDisruptionBudget my-kafka 1", "Deployment my-entity-operator 1 25%/25%: topic-operator 50m 0, user-operator 0 0"}, nil},
		{"Kafka without", kafka + "{kafka: {replicas: 3, rack: {topologyKey: zone}, storage: {type: persistent-claim, size: 5Gi}}, zookeeper: {replicas: 3, storage: {type: ephemeral}}}",
			[]string{"StatefulSet my-kafka Parallel 3: kafka 0 0, at zone Exists, claim data 5Gi", "StatefulSet my-zookeeper Parallel 3: zookeeper 0 0", "PodDisruptionBudget my-kafka 1"}, nil},
		{"Rollout", rollout + "{replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}, strategy: {canary: {maxSurge: 1, steps: [{setWeight: 5}]}}}",
			[]string{"Deployment web 4 1/25%: c 0 0"}, []string{"Rollout default/web: assumed: an update goes on as that of a Deployment does"}},
		{"Rollout of a Deployment", rollout + "{workloadRef: {kind: Deployment, name: web}}", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := manifest.Decode("r.yaml", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			result, err := operator.Expand(BuiltIn(), set.Ignored)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range result.Objects {
				got = append(got, brief(obj))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i := range max(len(tt.notes), len(result.Notes)) {
				if i >= len(tt.notes) || i >= len(result.Notes) || !strings.HasPrefix(result.Notes[i], tt.notes[i]) {
					t.Errorf("notes %q, want %q", result.Notes, tt.notes)
					break
				}
			}
		})
	}
}

// The anti-affinity of CloudNativePG selects its own pods.
func TestShippedAntiAffinitySelectsItsPods(t *testing.T) {
	set, err := manifest.Decode("r.yaml", []byte("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\nspec: {instances: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := operator.Expand(BuiltIn(), set.Ignored)
	if err != nil {
		t.Fatal(err)
	}
	template := result.Objects[0].Object.(*appsv1.StatefulSet).Spec.Template
	term := template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(template.Labels)) {
		t.Errorf("%s does not match %v (%v)", selector, template.Labels, err)
	}
}

// Problems are reported for the object that would be created.
func TestShippedProblems(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: kafka.strimzi.io/v1\nkind: KafkaNodePool\nmetadata: {name: p}\nspec: {replicas: 1}\n":    "r.yaml: KafkaNodePool default/p: metadata.labels[strimzi.io/cluster]: missing; the operator derives names from it",
		"apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: p}\nspec: {replicas: no}\n": `r.yaml: Prometheus default/p: StatefulSet prometheus-p: spec.replicas: Invalid value: false: `,
		"apiVersion: monitoring.coreos.com/v9\nkind: Prometheus\nmetadata: {name: p}\nspec: {}\n":             "r.yaml: Prometheus default/p: apiVersion: unknown version monitoring.coreos.com/v9 of Prometheus: use monitoring.coreos.com/v1, or add it to customResources",
	} {
		set, err := manifest.Decode("r.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = operator.Expand(BuiltIn(), set.Ignored)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
