package node

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// A pod that is bound after the taint was added tolerates the taint from then on, as long as one that was there before.
func TestTolerationCountsFromTheBinding(t *testing.T) {
	taint := []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoExecute, TimeAdded: &cluster.Epoch}}
	seconds := int64(60)
	tolerant := &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}}}}
	for bound, want := range map[int]float64{-100: 60, 0: 60, 100: 160} {
		pod := cluster.BindPod(tolerant, "n1", cluster.Epoch.Add(time.Duration(bound)*time.Second))
		if at, leaves := evictionTime(pod, taint); !leaves || at.Sub(cluster.Epoch.Time).Seconds() != want {
			t.Errorf("bound after %d s: leaves %v at %v, want after %v s", bound, leaves, at, want)
		}
	}
}

// If several tolerations match, the shortest counts, from the time of the first taint. A taint that is not tolerated evicts at once.
func TestShortestTolerationCounts(t *testing.T) {
	added := func(seconds int) *metav1.Time {
		at := metav1.NewTime(cluster.Epoch.Add(time.Duration(seconds) * time.Second))
		return &at
	}
	taints := []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoExecute, TimeAdded: added(5)}, {Key: "b", Effect: v1.TaintEffectNoExecute, TimeAdded: added(0)}}
	tolerates := func(key string, seconds int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}
	}
	for name, test := range map[string]struct {
		tolerations []v1.Toleration
		want        float64 // seconds; -1: never
	}{
		"the shorter first": {[]v1.Toleration{tolerates("a", 30), tolerates("b", 60)}, 30},
		"the shorter last":  {[]v1.Toleration{tolerates("a", 60), tolerates("b", 30)}, 30},
		"one of them":       {[]v1.Toleration{tolerates("a", 60)}, 0},
		"one for ever":      {[]v1.Toleration{tolerates("a", 60), {Key: "b", Operator: v1.TolerationOpExists}}, 60},
		"for ever":          {[]v1.Toleration{{Operator: v1.TolerationOpExists}}, -1},
		"not even a second": {[]v1.Toleration{tolerates("a", -5), tolerates("b", 60)}, 0},
	} {
		at, leaves := evictionTime(&v1.Pod{Spec: v1.PodSpec{Tolerations: test.tolerations}}, taints)
		if got := at.Sub(cluster.Epoch.Time).Seconds(); leaves != (test.want >= 0) || leaves && got != test.want {
			t.Errorf("%s: leaves %v after %v s, want %v", name, leaves, got, test.want)
		}
	}
}
