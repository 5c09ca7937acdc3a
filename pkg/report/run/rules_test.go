package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// By hand: the lines of each rule in the YAML.
func TestNewRules(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	spec := &v1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"},
		Affinity: &v1.Affinity{
			NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "arch", Operator: v1.NodeSelectorOpIn, Values: []string{"arm64", "amd64"}}}},
			}}},
			PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
				{Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: "zone"}},
				{Weight: 2, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: "host", LabelSelector: web}},
			}},
		},
		TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: web}},
	}
	want := &Rules{
		YAML: `affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: arch
          operator: In
          values:
          - arm64
          - amd64
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - podAffinityTerm:
        topologyKey: zone
      weight: 1
    - podAffinityTerm:
        labelSelector:
          matchLabels:
            app: web
        topologyKey: host
      weight: 2
nodeSelector:
  disk: ssd
topologySpreadConstraints:
- labelSelector:
    matchLabels:
      app: web
  maxSkew: 1
  topologyKey: zone
  whenUnsatisfiable: DoNotSchedule
`,
		Terms: []Term{
			{"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]", 13, 15},
			{"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[1]", 16, 21},
			{"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", 3, 10},
			{"nodeSelector", 22, 23},
			{"topologySpreadConstraints[0]", 25, 30},
		},
	}
	if diff := cmp.Diff(want, newRules(spec)); diff != "" {
		t.Error(diff)
	}
	if rules := newRules(&v1.PodSpec{}); rules != nil {
		t.Errorf("%+v of a spec without rules", rules)
	}
}
