package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	lists "github.com/faultline/faultline/pkg/list"
)

func quota(pods string) string {
	return "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {pods: '" + pods + "'}}\n"
}

// refusals returns lines such as "2 of deployment/web: message". The template's hash at the end of a ReplicaSet pod's name is left out.
func (w *world) refusals() []string {
	var all []string
	for _, r := range w.state.Refused {
		all = append(all, strings.Join([]string{string(rune('0' + r.Pods)), "of", r.Ref.String() + ":", withoutHash(r.Message)}, " "))
	}
	return all
}

func withoutHash(message string) string {
	before, rest, found := strings.Cut(message, `pods "web-`)
	name, after, _ := strings.Cut(rest, `"`)
	if !found || !strings.HasSuffix(name, "-") {
		return message
	}
	return before + `pods "web-…"` + after
}

func (w *world) setQuota(pods string) {
	w.t.Helper()
	limit := w.state.ResourceQuotas[0].DeepCopy()
	limit.Spec.Hard = v1.ResourceList{v1.ResourcePods: resource.MustParse(pods)}
	w.admit(limit)
	w.settle()
}

// Each kind of workload creates as many pods as the quota allows. When the quota grows, the other pods follow; when it shrinks, running
// pods stay.
func TestQuota(t *testing.T) {
	exceeded := "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
	tests := []struct {
		name, manifest, want string
	}{
		{"Deployment", deployment("web", 5, "a", ""), `3 of deployment/web: Error creating: pods "web-…" is forbidden: ` + exceeded},
		{"ReplicaSet", replicaSet(5), `3 of replicaset/web: Error creating: pods "web-" is forbidden: ` + exceeded},
		{"ReplicationController", replicationController(5), `3 of replicationcontroller/old: Error creating: pods "old-" is forbidden: ` + exceeded},
		{"Job", job("Job", "  parallelism: 5\n"), `3 of job/sum: Error creating: pods "sum-" is forbidden: ` + exceeded},
		{"Indexed Job", job("Job", "  parallelism: 5\n  completions: 5\n  completionMode: Indexed\n"), `3 of job/sum: Error creating: pods "sum-" is forbidden: ` + exceeded},
		{"DaemonSet", daemonSet("a", "}\n"), `3 of daemonset/agent: Error creating: pods "agent-" is forbidden: ` + exceeded},
		{"StatefulSet", workload("StatefulSet", "db", 5, "a", "  serviceName: db\n"), `3 of statefulset/db: Create Pod db-2 in StatefulSet db failed error: pods "db-2" is forbidden: ` + exceeded},
		{"parallel StatefulSet", workload("StatefulSet", "db", 5, "a", "  serviceName: db\n  podManagementPolicy: Parallel\n"),
			`3 of statefulset/db: Create Pod db-2 in StatefulSet db failed error: pods "db-2" is forbidden: ` + exceeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 5, spread)
			w.apply(quota("2"))
			w.apply(test.manifest)
			w.check("pods", len(w.state.Pods), 2)
			w.check("refused", w.refusals(), []string{test.want})
			w.setQuota("9")
			w.check("pods once there is room", len(w.state.Pods), 5)
			w.check("refused once there is room", w.refusals(), []string(nil))
			w.setQuota("1")
			w.check("pods above the quota", len(w.state.Pods), 5)
		})
	}
}

// A controller in its back-off does not know yet that the quota has become stricter. It does once something of its own changes.
func TestRefusedBefore(t *testing.T) {
	w := newWorld(t, 5, spread)
	w.apply(quota("2"))
	w.apply(deployment("web", 5, "a", ""))
	refused := func(pods, limit string) []string {
		return []string{pods + ` of deployment/web: Error creating: pods "web-…" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=` + limit}
	}
	rest := func() {
		next := *w.state
		next.Refused = lists.Map(w.state.Refused, func(r cluster.Refusal) cluster.Refusal { return r.WithBackoff(w.state.Now) })
		w.state = &next
	}
	later := func(seconds int) {
		next := *w.state
		next.Now = metav1.NewTime(w.state.Now.Add(time.Duration(seconds) * time.Second))
		w.state = &next
		w.settle()
	}
	w.check("refused", w.refusals(), refused("3", "2"))
	later(10)
	rest()
	w.setQuota("1")
	w.check("refused in the back-off", w.refusals(), refused("3", "2"))
	later(9)
	rest() // another step begins, in which nothing happens
	w.check("refused before 20 s", w.refusals(), refused("3", "2"))
	w.setQuota("0")
	w.apply(deployment("web", 6, "a", ""))
	w.check("refused once it is scaled", w.refusals(), refused("4", "0"))
	rest()
	w.setQuota("9")
	w.check("refused with room", w.refusals(), []string(nil))
}

// A ReplicaSet of a dump says in its condition since when it is refused, and of an invalid pod the name of one attempt.
func TestWithRefusedBefore(t *testing.T) {
	rs := func(name string, replicas, have int32, status v1.ConditionStatus, message string) *appsv1.ReplicaSet {
		failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: status, Message: message, LastTransitionTime: metav1.Unix(7, 0)}
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: new(true)}}},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
			Status:     appsv1.ReplicaSetStatus{Replicas: have, Conditions: []appsv1.ReplicaSetCondition{failure}},
		}
	}
	for name, test := range map[string]struct {
		set  *appsv1.ReplicaSet
		want []string
	}{
		"forbidden":            {rs("web-1", 3, 1, v1.ConditionTrue, `pods "web-1-" is forbidden: exceeded quota: q`), []string{`2 of deployment/web: Error creating: pods "web-…" is forbidden: exceeded quota: q`}},
		"invalid":              {rs("web-1", 1, 0, v1.ConditionTrue, `Pod "web-1-44ptl" is invalid: spec "x"`), []string{`1 of deployment/web: Error creating: Pod "web-1-" is invalid: spec "x"`}},
		"no more":              {rs("web-1", 3, 1, v1.ConditionFalse, `pods "web-1-" is forbidden: exceeded quota: q`), nil},
		"has its pods":         {rs("web-1", 3, 3, v1.ConditionTrue, `pods "web-1-" is forbidden: exceeded quota: q`), nil},
		"of something else":    {rs("web-1", 3, 1, v1.ConditionTrue, `timed out`), nil},
		"of a message cut off": {rs("web-1", 3, 1, v1.ConditionTrue, `pods "web-1-`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, state: WithRefusedBefore(&cluster.State{ReplicaSets: []*appsv1.ReplicaSet{test.set}})}
			w.check("refused", w.refusals(), test.want)
			for _, r := range w.state.Refused {
				w.check("since", r.Since, int64(7))
			}
		})
	}
}

// The quota has room for the four pods, but not for the one that maxSurge adds. With maxUnavailable the controller first deletes an old
// pod, and the rollout completes.
func TestRollingUpdateAtTheQuota(t *testing.T) {
	for _, test := range []struct {
		name, strategy string
		complete       bool
		refused        []string
	}{
		{"surge alone", rollingStrategy("1", "0"), false,
			[]string{`1 of deployment/web: Error creating: pods "web-…" is forbidden: exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4`}},
		{"one unavailable", rollingStrategy("1", "1"), true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 2, spread)
			w.apply(quota("4"))
			w.apply(deployment("web", 4, "a", test.strategy))
			w.apply(deployment("web", 4, "b", test.strategy))
			rollout := Rollouts(w.state)[0]
			w.check("complete", rollout.Complete, test.complete)
			w.check("refused", w.refusals(), test.refused)
			if !test.complete {
				w.check("waiting", rollout.Waiting, "the API server refuses 1 pod; the 4 old pods stay because maxUnavailable is 0")
			}
		})
	}
}

// A Terminating pod on a node that does not answer counts for the quota until twice its grace period is over; then another pod is created.
func TestQuotaOfPodsOnALostNode(t *testing.T) {
	w := newWorld(t, 2, spread)
	w.apply(quota("2"))
	w.apply(deployment("web", 2, "a", ""))
	w.fail(node.Unreachable, "n1")
	refused := false
	w.round = func(s *cluster.State) { refused = refused || len(s.Refused) > 0 }
	w.waitOut()
	w.check("refused on the way", refused, true)
	w.check("refused in the end", w.refusals(), []string(nil))
	active := slices.DeleteFunc(slices.Clone(w.state.Pods), func(pod *v1.Pod) bool { return !cluster.IsActive(pod) })
	w.check("active pods", len(active), 2)
}

func TestPodsOfAnAbsentRuntimeClass(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(strings.Replace(deployment("web", 2, "a", ""), "containers:", "runtimeClassName: gvisor, containers:", 1))
	w.check("refused", w.refusals(), []string{`2 of deployment/web: Error creating: pods "web-…" is forbidden: pod rejected: RuntimeClass "gvisor" not found`})
	w.apply("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: gvisor}\nhandler: runsc\noverhead: {podFixed: {cpu: 250m}}\n")
	w.check("refused with the class", w.refusals(), []string(nil))
	for _, pod := range w.state.Pods {
		w.check(pod.Name, pod.Spec.Overhead.Cpu().String(), "250m")
	}
}

// Prototypes of pods are reused for as long as the LimitRanges are the same.
func TestALimitRangeComesBetween(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(1))
	w.apply("apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits, namespace: default}\nspec: {limits: [{type: Container, defaultRequest: {cpu: 100m}}]}\n")
	w.apply(replicaSet(2))
	var requests []string
	for _, pod := range w.state.Pods {
		requests = append(requests, pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	}
	w.check("requests", requests, []string{"0", "100m"})
}

// A refused claim prevents the creation of its pod and of the pods after it. Claims within the quota stay.
func TestQuotaOfClaims(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {persistentvolumeclaims: '1'}}\n")
	w.apply(workload("StatefulSet", "db", 3, "a", `  serviceName: db
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	w.check("pods", len(w.state.Pods), 1)
	w.check("claims", len(w.state.PersistentVolumeClaims), 1)
	w.check("refused", w.refusals(), []string{`2 of statefulset/db: Create Claim data-db-1 for Pod db-1 in StatefulSet db failed error: ` +
		`persistentvolumeclaims "data-db-1" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1`})
}

// A claim that is being deleted, and that a pod still has, prevents the creation of its StatefulSet's pod until it is gone. The controller creates
// no other pod of an ordered set meanwhile, and all else goes on.
func TestClaimIsBeingDeleted(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(workload("StatefulSet", "db", 2, "a", `  serviceName: db
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	deleteClaim := func() *v1.PersistentVolumeClaim {
		claim := w.state.PersistentVolumeClaims[1].DeepCopy()
		claim.DeletionTimestamp, claim.Finalizers = &w.state.Now, []string{"kubernetes.io/pvc-protection"}
		w.state = w.state.With(claim)
		return claim
	}
	claim := deleteClaim()
	w.state = w.state.Without(w.state.Pods[1])
	w.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: inspector}\nspec: {nodeName: n1, containers: [{name: c, image: c}], volumes: [{name: d, persistentVolumeClaim: {claimName: data-db-1}}]}\n")
	w.apply(deployment("web", 1, "a", ""))
	w.check("refused", w.refusals(), []string{"1 of statefulset/db: Create Pod db-1 in StatefulSet db failed error: pvc data-db-1 is being deleted"})
	w.check("pods", len(w.state.Pods), 3) // db-0, the inspector and the Deployment's
	w.state = w.state.Without(claim)
	w.settle()
	w.check("refused once it is gone", w.refusals(), []string(nil))
	w.check("pods once it is gone", len(w.state.Pods), 4)

	// Somebody deletes the claim of a pod that has no node yet: the pod waits, and the controller has nothing to do.
	deleteClaim()
	waiting := w.state.Pods[slices.IndexFunc(w.state.Pods, func(pod *v1.Pod) bool { return pod.Name == "db-1" })].DeepCopy()
	waiting.Spec.NodeName, waiting.Status = "", v1.PodStatus{Phase: v1.PodPending}
	w.state = w.state.With(waiting)
	w.settle()
	w.check("refused with a Pending pod", w.refusals(), []string(nil))
}

// If a Deployment's ReplicaSet is refused, the Deployment lacks the pods that its other ReplicaSets do not have. Once the quota allows
// another ReplicaSet, the pods follow.
func TestQuotaOfReplicaSets(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {count/replicasets.apps: '0'}}\n")
	set := func(sets string) {
		limit := w.state.ResourceQuotas[0].DeepCopy()
		limit.Spec.Hard = v1.ResourceList{"count/replicasets.apps": resource.MustParse(sets)}
		w.admit(limit)
		w.settle()
	}
	refused := func(pods, used string) {
		t.Helper()
		got := w.refusals()
		if len(got) != 1 || !strings.HasPrefix(got[0], pods+` of deployment/web: Failed to create new replica set "web-`) ||
			!strings.HasSuffix(got[0], "is forbidden: exceeded quota: q, requested: count/replicasets.apps=1, used: count/replicasets.apps="+used+", limited: count/replicasets.apps="+used) {
			t.Errorf("refused: %v", got)
		}
	}
	w.apply(deployment("web", 2, "a", ""))
	refused("2", "0")
	set("1")
	w.check("pods of the first", len(w.state.Pods), 2)
	w.check("refused with room for one", w.refusals(), []string(nil))
	w.apply(deployment("web", 2, "b", ""))
	refused("0", "1") // the old ones run on
	w.check("waiting", Rollouts(w.state)[0].Waiting != "", true)
	set("2")
	w.check("complete once there is room", Rollouts(w.state)[0].Complete, true)
	w.check("refused with room for two", w.refusals(), []string(nil))
}

// A pod whose ResourceClaim is refused exists and waits. When another pod releases its claim, the pod gets its own.
func TestQuotaOfClaimsOnDevices(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {gpu.deviceclass.resource.k8s.io/devices: '1'}}\n")
	w.apply("apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpu, namespace: default}\nspec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}}\n")
	for _, name := range []string{"p1", "p2"} {
		w.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: default}\nspec: {resourceClaims: [{name: g, resourceClaimTemplateName: gpu}], containers: [{name: c, image: a}]}\n")
	}
	w.check("claims", len(w.state.ResourceClaims), 1)
	w.check("refused", w.refusals(), []string{`0 of pod/p2: PodResourceClaim g: create ResourceClaim : resourceclaims.resource.k8s.io "p2-g-" is forbidden: ` +
		`exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=1, used: gpu.deviceclass.resource.k8s.io/devices=1, limited: gpu.deviceclass.resource.k8s.io/devices=1`})
	w.state = w.state.Without(w.state.Pods[0])
	w.settle()
	w.check("refused once there is room", w.refusals(), []string(nil))
	w.check("claims of the other", w.state.ResourceClaims[0].OwnerReferences[0].Name, "p2")
}
