package blast_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
)

func TestQuorum(t *testing.T) {
	for _, test := range []struct {
		name, kind, annotation, named string
		replicas                      int
		place                         string // n1 is in zone a, n2 in b, n3 in c
		quorum                        int
		lost                          string // zones whose failure loses it
	}{
		{"majority of 3", "StatefulSet", "majority", "", 3, "n1 n2 n3", 2, ""},                   // 3 - 1 = 2
		{"two of 3 in a zone", "StatefulSet", "majority", "", 3, "n1 n1 n2", 2, "a"},             // 3 - 2 = 1
		{"majority of 4", "Deployment", "majority", "", 4, "n1 n1 n2 n3", 3, "a"},                // 4 - 2 = 2
		{"majority of what is wanted", "ReplicaSet", "majority", "", 5, "n1 n2 n3", 3, "a b c"},  // of 5, not of 3 that run
		{"not there before", "StatefulSet", "majority", "", 5, "n1 n2", 3, ""},                   // 2 < 3 already
		{"a number", "Deployment", `"1"`, "", 2, "n1 n1", 1, "a"},                                // 2 - 2 = 0
		{"named", "StatefulSet", "", "statefulset/db", 3, "n1 n1 n2", 2, "a"},                    // 3/2 + 1
		{"named with its namespace", "StatefulSet", "", "default/sts/db", 3, "n1 n2 n2", 2, "b"}, // 3/2 + 1
		{"the name wins", "StatefulSet", `"3"`, "statefulset/db", 3, "n1 n2 n3", 2, ""},          // with 3 every zone would
		{"one waits for its volume", "StatefulSet", "majority", "", 3, "n1 n2 n3~", 2, "a b"},    // 2 - 1 = 1, but c takes none that runs
		{"none", "StatefulSet", "", "", 3, "n1 n1 n1", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			annotations := ""
			if test.annotation != "" {
				annotations = blast.QuorumAnnotation + ": " + test.annotation
			}
			state := settled(t, nodes("a b c"), map[string]string{"db": test.place}, app(test.kind, "db", test.replicas, annotations))
			opts := blast.Options{Levels: []string{zone}, Quorum: strings.Fields(test.named)}
			var zones []string
			for _, failure := range lost(t, state, opts).Levels[0].Failures {
				for _, loss := range failure.Workloads {
					if loss.Quorum != test.quorum {
						t.Errorf("quorum = %d, want %d", loss.Quorum, test.quorum)
					}
					if loss.QuorumLost {
						zones = append(zones, failure.Domains[0])
					}
				}
			}
			if got := strings.Join(zones, " "); got != test.lost {
				t.Errorf("lost with zones %q, want %q", got, test.lost)
			}
		})
	}
}

func TestQuorumErrors(t *testing.T) {
	deployment := func(namespace, name, quorum string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u", Annotations: map[string]string{blast.QuorumAnnotation: quorum}},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		}
	}
	// The Deployment controller copies annotations, and the error must not list the ReplicaSet as well.
	copied := &appsv1.ReplicaSet{ObjectMeta: deployment("x", "web-1", "half").ObjectMeta}
	copied.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "u", Controller: ptr.To(true)}}
	state := &cluster.State{
		Nodes: nodes("a"),
		Deployments: []*appsv1.Deployment{
			deployment("x", "web", "half"), deployment("y", "web", "0"), deployment("y", "api", "-1"), deployment("y", "ok", "3"),
		},
		ReplicaSets: []*appsv1.ReplicaSet{copied},
	}
	_, err := blast.Lost(state, blast.Options{Simultaneous: 1, Quorum: []string{"deploy/web", "x/deployment/api", "web", "/deployment/ok", "service/ok", "deployment/ok", "y/deployment/web"}})
	want := `x/deployment/web: annotation faultline.dev/quorum: "half" is not a quorum; give a number of at least 1, or majority
y/deployment/web: annotation faultline.dev/quorum: "0" is not a quorum; give a number of at least 1, or majority
y/deployment/api: annotation faultline.dev/quorum: "-1" is not a quorum; give a number of at least 1, or majority
quorum: "deploy/web" is in several namespaces; give one of x/deployment/web, y/deployment/web
quorum: no workload "x/deployment/api"; give one of x/deployment/web, y/deployment/api, y/deployment/ok, y/deployment/web
quorum: "web" is neither kind/name nor namespace/kind/name; give a name such as statefulset/db
quorum: "/deployment/ok" is neither kind/name nor namespace/kind/name; give a name such as statefulset/db
quorum: no workload "service/ok"; give one of x/deployment/web, y/deployment/api, y/deployment/ok, y/deployment/web`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Members of known systems vote by default; a workload's own annotation takes precedence.
func TestKnownSystemsVote(t *testing.T) {
	set := func(name, annotation string, podLabels map[string]string) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5)}}
		s.Spec.Template.Labels = podLabels
		if annotation != "" {
			s.Annotations = map[string]string{blast.QuorumAnnotation: annotation}
		}
		return s
	}
	etcd := map[string]string{"app": "kafscale-etcd", "cluster": "k"}
	got, err := blast.Quorums(&cluster.State{StatefulSets: []*appsv1.StatefulSet{
		set("k-etcd", "", etcd),
		set("told", "4", etcd),
		set("zk", "", map[string]string{"app.kubernetes.io/name": "zookeeper", "app.kubernetes.io/component": "server", "app.kubernetes.io/role-group": "default"}),
		set("brokers", "", map[string]string{"app.kubernetes.io/name": "kafka", "app.kubernetes.io/component": "broker"}),
		set("plain", "", nil),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) cluster.Ref { return cluster.Ref{Kind: "StatefulSet", Namespace: "x", Name: name} }
	want := map[cluster.Ref]int{of("k-etcd"): 3, of("told"): 4, of("zk"): 3} // 5/2 + 1 = 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("quorums (-want +got):\n%s", diff)
	}
}
