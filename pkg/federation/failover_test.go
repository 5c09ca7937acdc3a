package federation

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/taint_test.go, TestGetMinTolerationTimeWithCurrentTime
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/taint_manager_test.go, needEvictionWithCurrentTime
func TestTolerated(t *testing.T) {
	const forever = -1
	taint := func(key string, effect v1.TaintEffect) v1.Taint {
		return v1.Taint{Key: key, Value: "value", Effect: effect}
	}
	tolerate := func(key string, seconds *int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds}
	}
	notReady := taint(TaintNotReady, v1.TaintEffectNoExecute)
	key, key1, key2 := taint("key", v1.TaintEffectNoExecute), taint("key1", v1.TaintEffectNoExecute), taint("key2", v1.TaintEffectNoExecute)
	for _, test := range []struct {
		name        string
		taints      []v1.Taint
		tolerations []v1.Toleration
		want        time.Duration
	}{
		{"no taint", nil, []v1.Toleration{tolerate("key", ptr.To[int64](60))}, forever},
		{"no NoExecute taint", []v1.Taint{taint("key", v1.TaintEffectNoSchedule)}, nil, forever},
		{"no toleration", []v1.Taint{key}, nil, 0},
		{"for a minute", []v1.Taint{key}, []v1.Toleration{tolerate("key", ptr.To[int64](60))}, time.Minute},
		{"for good", []v1.Taint{key}, []v1.Toleration{tolerate("key", nil)}, forever},
		{"not at all", []v1.Taint{key}, []v1.Toleration{tolerate("key", ptr.To[int64](0))}, 0},
		{"less than nothing", []v1.Taint{key}, []v1.Toleration{tolerate("key", ptr.To[int64](-5))}, 0},
		{"almost for good", []v1.Taint{key}, []v1.Toleration{tolerate("key", ptr.To[int64](math.MaxInt64))}, 10 * 365 * 24 * time.Hour},
		{"the shorter of two", []v1.Taint{key1, key2}, []v1.Toleration{tolerate("key1", ptr.To[int64](120)), tolerate("key2", ptr.To[int64](60))}, time.Minute},
		{"one of two for good", []v1.Taint{key1, key2}, []v1.Toleration{tolerate("key1", nil), tolerate("key2", ptr.To[int64](60))}, time.Minute},
		{"one of two", []v1.Taint{key1, key2}, []v1.Toleration{tolerate("key1", ptr.To[int64](30))}, 0},
		{"a failed cluster for as long as all", []v1.Taint{notReady}, nil, 90 * time.Second},
		{"but one that somebody has tainted, too", []v1.Taint{notReady, key}, nil, 0},
		{"a failed cluster for as long as the policy says", []v1.Taint{notReady}, []v1.Toleration{tolerate(TaintNotReady, ptr.To[int64](0))}, 0},
		{"a failed cluster for good", []v1.Taint{notReady, taint(TaintUnreachable, v1.TaintEffectNoExecute)}, []v1.Toleration{{Operator: v1.TolerationOpExists}}, forever},
		{"the first that tolerates counts", []v1.Taint{key}, []v1.Toleration{tolerate("key", ptr.To[int64](30)), tolerate("key", nil)}, 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &Binding{Placement: &Placement{ClusterTolerations: test.tolerations}}
			if got := b.ToleratedFor(test.taints, 90*time.Second); got != test.want && (got >= 0 || test.want >= 0) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/taint_manager_test.go, Test_getPurgeMode
func TestPurgeMode(t *testing.T) {
	cluster := func(mode string) *Failover { return &Failover{Cluster: &ClusterFailover{PurgeMode: mode}} }
	for _, test := range []struct {
		failover         *Failover
		controller, want string
	}{
		{nil, "", PurgeGracefully},
		{nil, PurgeDirectly, PurgeDirectly},
		{nil, PurgeGracefully, PurgeGracefully},
		{&Failover{}, PurgeDirectly, PurgeDirectly},
		{cluster(""), PurgeDirectly, PurgeGracefully},
		{cluster(PurgeDirectly), PurgeGracefully, PurgeDirectly},
		{cluster(PurgeGracefully), PurgeDirectly, PurgeGracefully},
	} {
		if got := (&Binding{Failover: test.failover}).PurgeMode(test.controller); got != test.want {
			t.Errorf("%+v, %q: got %s, want %s", test.failover, test.controller, got, test.want)
		}
	}
}

// Karmada keeps a task whose binding is not scheduled, or not healthy, until it takes too long.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/gracefuleviction/evictiontask_test.go
func TestEvicted(t *testing.T) {
	start := time.Unix(0, 0)
	for _, test := range []struct {
		name    string
		reason  string
		healthy bool
		after   time.Duration
		want    []string
	}{
		{"not scheduled", ReasonNoClusterFit, true, 9 * time.Minute, []string{"member1", "member2"}},
		{"scheduled and healthy", ReasonSuccess, true, 9 * time.Minute, nil},
		{"scheduled, not healthy", ReasonSuccess, false, 9 * time.Minute, []string{"member1", "member2"}},
		{"exactly as long as allowed", ReasonSuccess, false, 10 * time.Minute, []string{"member1", "member2"}},
		{"one takes too long", ReasonSuccess, false, 10*time.Minute + time.Second, []string{"member2"}},
		{"both take too long, not scheduled", ReasonNoClusterFit, false, 12 * time.Minute, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &Binding{Reason: test.reason, Evictions: []Eviction{{From: "member1", Since: start}, {From: "member2", Since: start.Add(time.Minute)}}}
			var got []string
			for _, e := range b.WithoutEvicted(test.healthy, start.Add(test.after)).Evictions {
				got = append(got, e.From)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if len(b.Evictions) != 2 {
				t.Error("Evicted changed the binding that it was given")
			}
		})
	}
}

// A workload moves from a cluster that failed to another one, and its old copy stays until the new one is healthy.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/work/v1alpha2/binding_types_helper.go, GracefulEvictCluster
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding_test.go, TestObtainBindingSpecExistingClusters
func TestEvict(t *testing.T) {
	now := time.Unix(0, 0)
	s := &Scheduler{Clusters: clusters("member1", "member2")}
	for purge, copies := range map[string]string{PurgeGracefully: "member2=3 member1=3", PurgeDirectly: "member2=3"} {
		b := bind(deployment("a", "web", 3), nil, Placement{SpreadConstraints: one})
		b = s.Run([]*Binding{b}, []*Binding{b})[0]
		if b.Evict("member2", purge, now) != b {
			t.Error("a binding is moved away from a cluster that it does not have")
		}
		left := b.Evict("member1", purge, now)
		if diff := cmp.Diff([]Eviction{{"member1", 3, purge, now}}, left.Evictions); diff != "" || len(left.Targets) > 0 || len(b.Evictions) > 0 {
			t.Error(left.Targets, b.Evictions, diff)
		}
		moved := s.Run([]*Binding{left}, []*Binding{left})[0]
		if diff := cmp.Diff(targets(copies), moved.Copies()); diff != "" {
			t.Errorf("%s: %s", purge, diff)
		}
		if diff := cmp.Diff(targets("member2=3"), moved.WithoutEvicted(true, now).Copies()); diff != "" {
			t.Errorf("%s: %s", purge, diff)
		}
	}
}

// A workload that returns to a cluster before it has left it has one copy there, with the binding's present replicas.
func TestCopiesOfAWorkloadThatComesBack(t *testing.T) {
	b := &Binding{Targets: targets("member1=3"), Evictions: []Eviction{{From: "member1", Replicas: 2, Purge: PurgeGracefully}, {From: "member2", Replicas: 1, Purge: PurgeGracefully}}}
	if diff := cmp.Diff(targets("member1=3 member2=1"), b.Copies()); diff != "" {
		t.Error(diff)
	}
}
