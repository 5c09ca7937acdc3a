package fleet_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Karmada decides what a replica requests, in templates as in the remaining resources of clusters. Cluster a has 2 CPU and b has 4. The
// quotients are those of Webster's method: the room over 1, 3, 5...
func TestRequirements(t *testing.T) {
	// web returns a Deployment with the metadata, the replicas and the rest of the pod's spec.
	web := func(metadata string, replicas int, spec string) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web%s}, spec: {replicas: %d, selector: {matchLabels: {app: web}}, "+
			"template: {metadata: {labels: {app: web}}, spec: {%s}}}}", metadata, replicas, spec)
	}
	const (
		one     = "{name: c, image: c, resources: {requests: {cpu: 1}}}"
		bare    = "{name: c, image: c}"
		sidecar = "initContainers: [{name: i, image: i, restartPolicy: Always, resources: {requests: {cpu: 1}}}], "
	)
	aAndB := []string{member("a", 1, 2), member("b", 1, 4)}
	alike := []string{member("a", 1, 4), member("b", 1, 4)}
	for _, test := range []struct {
		name      string
		members   []string
		placement string
		workloads []string
		steps     []string
		want      []string
	}{
		// The room is 2 and 4: a has the quotients 2, 0.7, and b 4, 1.3.
		{"limits stand for requests", aAndB, dynamic, []string{web("", 3, "containers: [{name: c, image: c, resources: {limits: {cpu: 1}}}]")}, nil, []string{"web a:1 b:2, a 1, b 2"}},
		// The room is 2 and 4, where the scheduler has room for 1 and 2: a has 2, 0.7, and b 4, 1.3, 0.8.
		{"a restartable init container is as any other", aAndB, dynamic, []string{web("", 4, sidecar+"containers: ["+one+"]")}, nil, []string{"web a:1 b:3(2), a 1, b 2"}},
		// The three existing pods take 1 of a and 2 of b by Karmada's sum: 1 and 2 are left, and a has 1, 0.3, and b 2, 0.7.
		{"and so in what pods have taken", aAndB, dynamic, []string{web("", 3, sidecar+"containers: ["+one+"]")},
			[]string{apply(policy("api", dynamic), deployment("api", 2, 1))}, []string{"web a:1 b:2, a 1, b 2", "web a:1 b:2, api a:1(0) b:1(0), a 1, b 2"}},
		// The room is 2 and 4, where the scheduler has room for 1 and 2.
		{"a pod's request as a whole is not read", aAndB, dynamic, []string{web("", 3, "resources: {requests: {cpu: 2}}, containers: ["+one+"]")}, nil, []string{"web a:1 b:2, a 1, b 2"}},
		{"no replicas, and nothing asked for", aAndB, dynamic, []string{web("", 0, "containers: ["+bare+"]")}, nil, []string{"web a:0 b:0, a 0, b 0"}},
		{"no replicas, with requests", aAndB, dynamic, []string{web("", 0, "containers: ["+one+"]")}, nil, []string{"web, a 0, b 0"}},
		{"no replicas, with requests of zero", aAndB, dynamic, []string{web("", 0, "containers: [{name: c, image: c, resources: {requests: {cpu: '0'}}}]")}, nil, []string{"web a:0 b:0, a 0, b 0"}},
		{"no replicas, with a node selector", aAndB, dynamic, []string{web("", 0, "nodeSelector: {disk: ssd}, containers: ["+bare+"]")}, nil, []string{"web, a 0, b 0"}},
		{"no replicas, with a toleration", aAndB, dynamic, []string{web("", 0, "tolerations: [{operator: Exists}], containers: ["+bare+"]")}, nil, []string{"web, a 0, b 0"}},
		{"no replicas, with a node affinity", aAndB, dynamic, []string{web("", 0, "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
			"{nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}, containers: ["+bare+"]")}, nil, []string{"web, a 0, b 0"}},
		// The hash of UID "a" is even, the hash of "b" is odd. A template without a given UID has none, and applying it again keeps the UID
		// that it has.
		{"a tie without a UID", alike, divided, []string{web("", 3, "containers: ["+one+"]")}, nil, []string{"web a:2 b:1, a 2, b 1"}},
		{"a tie by an even UID", alike, divided, []string{web(", uid: a", 3, "containers: ["+one+"]")}, nil, []string{"web a:2 b:1, a 2, b 1"}},
		{"a tie by an odd UID", alike, divided, []string{web(", uid: b", 3, "containers: ["+one+"]")},
			[]string{"scale: {target: deployment/web, replicas: 5}", apply(web("", 1, "containers: ["+one+"]"))},
			[]string{"web a:1 b:2, a 1, b 2", "web a:2 b:3, a 2, b 3", "web b:1, a 0, b 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := runFederation(t, federationOf(t, test.members, "", append([]string{policy("web", test.placement)}, test.workloads...), test.steps...))
			var got []string
			for i := range result.Steps {
				got = append(got, outcome(&result.Steps[i]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
