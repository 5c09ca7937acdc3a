package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const barePod = `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: a}]%s}
`

func pod(more string) string { return strings.Replace(barePod, "%s", more, 1) }

func TestAdmitCompletesPods(t *testing.T) {
	for _, phase := range []v1.PodPhase{"", v1.PodPending} { // a decoder may default it
		t.Run("phase "+string(phase), func(t *testing.T) { testAdmitCompletesPods(t, phase) })
	}
}

func testAdmitCompletesPods(t *testing.T, phase v1.PodPhase) {
	w := newWorld(t, 1, anywhere)
	objs := decode(t, pod(""))
	objs[0].(*v1.Pod).Status.Phase = phase
	w.admit(objs...)
	p := w.state.Pods[0]
	w.check("tolerations", p.Spec.Tolerations, defaultTolerations(nil))
	w.check("300 s each", []int64{*p.Spec.Tolerations[0].TolerationSeconds, *p.Spec.Tolerations[1].TolerationSeconds}, []int64{300, 300})
	w.check("priority and policy", []any{*p.Spec.Priority, *p.Spec.PreemptionPolicy}, []any{int32(0), v1.PreemptLowerPriority})
	w.check("status", p.Status, v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBestEffort})
	w.check("created", p.CreationTimestamp, cluster.Epoch)
	if p.UID == "" {
		t.Error("no UID")
	}
}

func TestAdmitPriority(t *testing.T) {
	const classes = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 5
globalDefault: true
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
`
	tests := []struct {
		name, spec string
		want       int32
		err        string
	}{
		{"the global default", "", 5, ""},
		{"named", ", priorityClassName: high", 1000, ""},
		{"built in", ", priorityClassName: system-node-critical", 2000001000, ""},
		{"unknown", ", priorityClassName: nope", 0, `Pod default/p: pods "p" is forbidden: no PriorityClass with name nope was found; add it to the input`},
		{"another value", ", priorityClassName: high, priority: 3", 0, `Pod default/p: pods "p" is forbidden: the integer value of priority (3) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The class may come after the pod, and the pod with the default of its phase.
			objs := decode(t, pod(test.spec)+"---"+classes)
			objs[0].(*v1.Pod).Status.Phase = v1.PodPending
			next, _, err := Admit(&cluster.State{}, objs...)
			if err != nil || test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v\nwant  %s", err, test.err)
				}
				return
			}
			if got := *next.Pods[0].Spec.Priority; got != test.want {
				t.Errorf("priority %d, want %d", got, test.want)
			}
		})
	}
}

func TestAdmitBindsANewPodThatNamesItsNode(t *testing.T) {
	w := newWorld(t, 1, anywhere)
	objs := decode(t, pod(", nodeName: n1"))
	objs[0].(*v1.Pod).Status.Phase = v1.PodPending
	w.admit(objs...)
	p := w.state.Pods[0]
	w.check("priority, tolerations and phase", []any{*p.Spec.Priority, len(p.Spec.Tolerations), p.Status.Phase}, []any{int32(0), 2, v1.PodRunning})
}

func TestAdmitMergesLabelKeys(t *testing.T) {
	w := newWorld(t, 0, anywhere)
	objs := decode(t, strings.Replace(pod(", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "+
		"labelSelector: {}, matchLabelKeys: [app]}]"), "name: p,", "name: p, labels: {app: web},", 1))
	objs[0].(*v1.Pod).Status.Phase = v1.PodPending
	w.admit(objs...)
	w.check("selector", w.state.Pods[0].Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions,
		[]metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}}})
}

func TestAdmitLeavesPodsOfAClusterAsTheyAre(t *testing.T) {
	// Their priorities are of classes that nobody gave, or that had another value then.
	const live = ", priorityClassName: gone, priority: 7"
	tests := []struct {
		name, manifest string
		phase          v1.PodPhase
	}{
		{"pending, with a creation time", strings.Replace(pod(live), "name: p,", "name: p, creationTimestamp: 2025-01-01T00:00:00Z,", 1), v1.PodPending},
		{"ended", pod(live), v1.PodFailed},
		{"running, without a priority", pod(", nodeName: n1, priorityClassName: gone"), v1.PodRunning},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, anywhere)
			objs := decode(t, test.manifest)
			given := objs[0].(*v1.Pod)
			given.Status.Phase = test.phase
			w.admit(given)
			w.check("priority", w.state.Pods[0].Spec.Priority, given.Spec.Priority)
			w.check("status", w.state.Pods[0].Status, given.Status)
		})
	}
}

func TestAdmitTellsAllProblemsAtOnce(t *testing.T) {
	s := &cluster.State{}
	_, _, err := Admit(s, decode(t, pod(", nodeName: gone")+"---"+
		deployment("web", 1, "a", "")+"---"+
		strings.Replace(deployment("web2", 1, "a", ""), "matchLabels: {app: web2}", "matchLabels: {app: web}", 1)+"---"+
		strings.Replace(deployment("web3", 1, "a", ""), "containers:", "priorityClassName: nope, containers:", 1)+"---"+
		strings.Replace(deployment("web4", 1, "a", ""), "containers:", "nodeName: gone, containers:", 1))...)
	want := []string{
		`Pod default/p: spec.nodeName: node "gone" does not exist; give the node too, or leave spec.nodeName out`,
		"Deployment default/web2: spec.template.metadata.labels: `selector` does not match template `labels`",
		`Deployment default/web3: spec.template.spec: pods "web3-" is forbidden: no PriorityClass with name nope was found; add it to the input`,
		`Deployment default/web4: spec.template.spec.nodeName: node "gone" does not exist; give the node too, or leave spec.template.spec.nodeName out`,
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestAdmitCreatesNamespaces(t *testing.T) {
	w := newWorld(t, 0, anywhere)
	notes := w.admit(decode(t, pod("")+"---"+strings.Replace(pod(""), "namespace: default", "namespace: shop", 1))...)
	w.check("notes", notes, []string{`Namespace shop did not exist and was created`})
	w.check("labels", w.state.Namespaces[1].Labels, map[string]string{"kubernetes.io/metadata.name": "shop"})
}

func TestApplyKeepsWhatIsTheClusters(t *testing.T) {
	w := newWorld(t, 1, anywhere)
	w.apply(deployment("web", 3, "a", ""))
	before := w.state.Deployments[0]
	w.admit(decode(t, deployment("web", 5, "a", ""))...)
	after := w.state.Deployments[0]
	w.check("replicas", *after.Spec.Replicas, int32(5))
	w.check("identity", []any{after.UID, after.CreationTimestamp}, []any{before.UID, before.CreationTimestamp})
	w.check("status", after.Status, before.Status)
	w.check("revision", after.Annotations, before.Annotations)
	w.check("generation", after.Generation, before.Generation+1)
	w.settle()
	w.check("pods", len(w.state.Pods), 5)
}

func TestAdmitDoesNotChangeWhatItIsGiven(t *testing.T) {
	objs := decode(t, pod("")+"---"+job("Job", "")+"---"+claim("data", ""))
	before := decode(t, pod("")+"---"+job("Job", "")+"---"+claim("data", ""))
	if _, _, err := Admit(&cluster.State{}, objs...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, objs); diff != "" {
		t.Error(diff)
	}
}

func TestGenerateName(t *testing.T) {
	w := newWorld(t, 0, anywhere)
	generated := strings.Replace(pod(""), "name: p,", "generateName: p-,", 1)
	w.admit(decode(t, generated+"---"+generated)...)
	a, b := w.state.Pods[0].Name, w.state.Pods[1].Name
	if a == b || len(a) != 7 || !strings.HasPrefix(a, "p-") {
		t.Errorf("names %s and %s", a, b)
	}
}

// born tells each pod's node and when it was created: one that was made again is younger.
func (w *world) born() map[string]string {
	all := map[string]string{}
	for _, pod := range w.state.Pods {
		all[pod.Name] = pod.Spec.NodeName + " " + pod.CreationTimestamp.String()
	}
	return all
}

// running is a cluster in which each kind of workload runs, rolled out twice.
func running(t *testing.T) *world {
	w := newWorld(t, 2, spread)
	for _, image := range []string{"a", "b"} {
		w.apply(deployment("web", 3, image, ""))
		w.apply(workload("StatefulSet", "db", 2, image, "  serviceName: db\n"))
		w.apply(daemonSet(image, "}\n"))
		w.apply(job("Job", "  parallelism: 2\n"))
	}
	return w
}

func TestDumpIsNotExpandedTwice(t *testing.T) {
	tests := []struct {
		name string
		// edit returns the object as the dump has it, nil: not at all.
		edit func(cluster.Object) cluster.Object
	}{
		{"complete", func(obj cluster.Object) cluster.Object { return obj }},
		{"without ReplicaSets", func(obj cluster.Object) cluster.Object {
			if cluster.KindOf(obj) == "ReplicaSet" {
				return nil
			}
			return obj
		}},
		{"without UIDs", func(obj cluster.Object) cluster.Object {
			obj.SetUID("")
			return obj
		}},
		{"without UIDs, in references too", func(obj cluster.Object) cluster.Object {
			obj.SetUID("")
			refs := obj.GetOwnerReferences()
			for i := range refs {
				refs[i].UID = ""
			}
			obj.SetOwnerReferences(refs)
			return obj
		}},
		{"without UIDs and ReplicaSets", func(obj cluster.Object) cluster.Object {
			obj.SetUID("")
			if cluster.KindOf(obj) == "ReplicaSet" {
				return nil
			}
			return obj
		}},
		{"without ControllerRevisions", func(obj cluster.Object) cluster.Object {
			if cluster.KindOf(obj) == "ControllerRevision" {
				return nil
			}
			return obj
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := running(t)
			before := w.born()
			var dump []cluster.Object
			for _, obj := range w.state.Objects() {
				if obj = test.edit(obj.DeepCopyObject().(cluster.Object)); obj != nil {
					dump = append([]cluster.Object{obj}, dump...) // pods before their owners, nodes last
				}
			}
			again := newWorld(t, 0, spread)
			again.state.Now = w.state.Now
			again.admit(dump...)
			again.settle()
			again.check("pods", again.born(), before)
			for _, r := range Rollouts(again.state) {
				again.check(r.Kind, []any{r.Complete, r.Old}, []any{true, 0})
			}
		})
	}
}

// Of two revisions whose ReplicaSets are missing, under hashes of another version, the present one is that whose containers are the
// template's, also where the pods have requests and the template has limits only. The other is newer, as after a rollback.
func TestDumpOfLimitsWithoutReplicaSets(t *testing.T) {
	limited := func(image string) string {
		return strings.Replace(deployment("web", 2, image, ""), "image: "+image, "image: "+image+", resources: {limits: {cpu: 1}}", 1)
	}
	w := newWorld(t, 2, spread)
	w.apply(limited("a"))
	var dump []cluster.Object
	for _, obj := range w.state.Objects() {
		if cluster.KindOf(obj) == "ReplicaSet" {
			continue
		}
		obj = obj.DeepCopyObject().(cluster.Object)
		if p, ok := obj.(*v1.Pod); ok {
			p.OwnerReferences[0].Name = "web-foreign"
			p.Labels["pod-template-hash"] = "foreign"
			newer := p.DeepCopy()
			newer.Name, newer.UID = "x"+p.Name, "x"+p.UID
			newer.CreationTimestamp = metav1.NewTime(p.CreationTimestamp.Add(time.Hour))
			newer.OwnerReferences[0].Name, newer.OwnerReferences[0].UID = "web-other", "x"
			newer.Labels["pod-template-hash"] = "other"
			newer.Spec.Containers[0].Image = "b"
			dump = append(dump, newer)
		}
		dump = append(dump, obj)
	}
	again := newWorld(t, 0, spread)
	again.admit(dump...)
	again.settle()
	again.check("pods", again.born(), w.born())
}

func TestDumpWithForeignHashes(t *testing.T) {
	// The hashes of a cluster of another version are not those that this one computes.
	w := running(t)
	before := w.born()
	var dump []cluster.Object
	for _, obj := range w.state.Objects() {
		if cluster.KindOf(obj) == "ControllerRevision" {
			continue
		}
		obj = obj.DeepCopyObject().(cluster.Object)
		if p, ok := obj.(*v1.Pod); ok {
			if _, ok := p.Labels["controller-revision-hash"]; ok {
				p.Labels["controller-revision-hash"] = "foreign"
			}
		}
		dump = append(dump, obj)
	}
	for _, obj := range dump {
		if cluster.KindOf(obj) == "StatefulSet" {
			obj.(*appsv1.StatefulSet).Status.UpdateRevision = "foreign"
			obj.(*appsv1.StatefulSet).Status.CurrentRevision = "foreign"
		}
	}
	again := newWorld(t, 0, spread)
	again.state.Now = w.state.Now
	again.admit(dump...)
	again.settle()
	again.check("pods", again.born(), before)
	again.apply(daemonSet("c", "}\n") + "---" + workload("StatefulSet", "db", 2, "c", "  serviceName: db\n"))
	for _, p := range again.state.Pods {
		if p.Labels["app"] == "agent" || p.Labels["app"] == "db" {
			again.check("updated "+p.Name, p.Spec.Containers[0].Image, "c")
		}
	}
}

func TestDumpWithoutPriorityClasses(t *testing.T) {
	w := newWorld(t, 1, anywhere)
	objs := decode(t, pod(", nodeName: n1, priorityClassName: high, priority: 7"))
	objs[0].(*v1.Pod).Status.Phase = v1.PodRunning
	notes := w.admit(objs...)
	w.check("notes", notes, []string{`PriorityClass high was not given and was created with value 7, as Pod default/p has it`})
	w.check("class", w.state.PriorityClasses[0].Value, int32(7))
}

func TestOwnerMayComeLater(t *testing.T) {
	w := running(t)
	var pods, others []cluster.Object
	for _, obj := range w.state.Objects() {
		obj = obj.DeepCopyObject().(cluster.Object)
		obj.SetUID("")
		switch cluster.KindOf(obj) {
		case "Pod":
			pods = append(pods, obj)
		case "Node":
			pods = append([]cluster.Object{obj}, pods...)
		default:
			others = append(others, obj)
		}
	}
	again := newWorld(t, 0, spread)
	again.state.Now = w.state.Now
	again.admit(pods...)
	again.admit(others...)
	again.settle()
	again.check("pods", again.born(), w.born())
}

func TestDelete(t *testing.T) {
	w := running(t)
	count := func(s *cluster.State) map[string]int {
		all := map[string]int{}
		for _, obj := range s.Objects() {
			all[cluster.KindOf(obj)]++
		}
		return all
	}
	w.check("all", count(w.state), map[string]int{"Namespace": 1, "Node": 2, "Pod": 9, "Deployment": 1, "ReplicaSet": 2, "StatefulSet": 1, "DaemonSet": 1, "ControllerRevision": 4, "Job": 1})
	s := Delete(w.state, w.state.Deployments[0])
	w.check("with a Deployment go its ReplicaSets and pods", count(s), map[string]int{"Namespace": 1, "Node": 2, "Pod": 6, "StatefulSet": 1, "DaemonSet": 1, "ControllerRevision": 4, "Job": 1})
	s = Delete(w.state, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.check("with a Namespace goes all in it", count(s), map[string]int{"Node": 2})
	if Delete(w.state, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}) != w.state {
		t.Error("what is not there was deleted")
	}
}

func TestDeleteNode(t *testing.T) {
	w := newWorld(t, 2, onePerNode)
	w.apply(replicaSet(2) + "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: []}\n")
	s := Delete(w.state, w.state.Node("n1"))
	w.check("its CSINode and its pods go, not their ReplicaSet", []int{len(s.Nodes), len(s.CSINodes), len(s.Pods), len(s.ReplicaSets)}, []int{1, 0, 1, 1})
}
