package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestAdmitCompletesPods(t *testing.T) {
	for _, phase := range []v1.PodPhase{"", v1.PodPending} { // a decoder may default it
		t.Run("phase "+string(phase), func(t *testing.T) { testAdmitCompletesPods(t, phase) })
	}
}

func testAdmitCompletesPods(t *testing.T, phase v1.PodPhase) {
	w := newWorld(t, 1)
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
		{"unknown", ", priorityClassName: nope", 0, `pods "p" is forbidden: no PriorityClass with name nope was found`},
		{"another value", ", priorityClassName: high, priority: 3", 0, `pods "p" is forbidden: the integer value of priority (3) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The class may come after the pod, also if the pod has the default of its phase.
			objs := decode(t, pod(test.spec)+"---"+classes)
			objs[0].(*v1.Pod).Status.Phase = v1.PodPending
			next, _, err := Admit(&cluster.State{}, objs...)
			if err != nil {
				t.Fatal(err)
			}
			if test.err != "" {
				if diff := cmp.Diff([]cluster.Refusal{{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "p"}, Pods: 1, Message: test.err}}, next.Refused); diff != "" {
					t.Error(diff)
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
	w := newWorld(t, 1)
	objs := decode(t, pod(", nodeName: n1"))
	objs[0].(*v1.Pod).Status.Phase = v1.PodPending
	w.admit(objs...)
	p := w.state.Pods[0]
	w.check("priority, tolerations and phase", []any{*p.Spec.Priority, len(p.Spec.Tolerations), p.Status.Phase}, []any{int32(0), 2, v1.PodRunning})
}

func TestAdmitMergesLabelKeys(t *testing.T) {
	w := newWorld(t, 0)
	objs := decode(t, strings.Replace(pod(", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "+
		"labelSelector: {}, matchLabelKeys: [app]}]"), "name: p,", "name: p, labels: {app: web},", 1))
	objs[0].(*v1.Pod).Status.Phase = v1.PodPending
	w.admit(objs...)
	w.check("selector", w.state.Pods[0].Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions,
		[]metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}}})
}

func TestAdmitLeavesPodsOfAClusterAsTheyAre(t *testing.T) {
	// The pods' priorities come from classes that are missing, or that had another value at that time.
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
			w := newWorld(t, 1)
			objs := decode(t, test.manifest)
			given := objs[0].(*v1.Pod)
			given.Status.Phase = test.phase
			w.admit(given)
			w.check("priority", w.state.Pods[0].Spec.Priority, given.Spec.Priority)
			w.check("status", w.state.Pods[0].Status, given.Status)
		})
	}
}

func TestAdmitReportsAllProblemsAtOnce(t *testing.T) {
	s := &cluster.State{}
	_, _, err := Admit(s, decode(t, pod(", nodeName: gone")+"---"+
		workload("Deployment", "web", "")+"---"+
		strings.Replace(workload("Deployment", "web2", ""), "matchLabels: {app: web2}", "matchLabels: {app: web}", 1)+"---"+
		strings.Replace(workload("Deployment", "web4", ""), "containers:", "nodeName: gone, containers:", 1))...)
	want := []string{
		`Pod default/p: spec.nodeName: node "gone" does not exist; give the node too, or leave spec.nodeName out`,
		"Deployment default/web2: spec.template.metadata.labels: `selector` does not match template `labels`",
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
	w := newWorld(t, 0)
	notes := w.admit(decode(t, pod("")+"---"+strings.Replace(pod(""), "namespace: default", "namespace: shop", 1))...)
	w.check("notes", notes, []string{`Namespace shop did not exist and was created`})
	w.check("labels", w.state.Namespaces[1].Labels, map[string]string{"kubernetes.io/metadata.name": "shop"})
}

func TestAdmitDoesNotChangeWhatItIsGiven(t *testing.T) {
	const claim = "\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}\n"
	objs := decode(t, pod("")+"---"+job("")+"---"+claim)
	before := decode(t, pod("")+"---"+job("")+"---"+claim)
	if _, _, err := Admit(&cluster.State{}, objs...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, objs); diff != "" {
		t.Error(diff)
	}
}

func TestDumpWithoutPriorityClasses(t *testing.T) {
	w := newWorld(t, 1)
	objs := decode(t, pod(", nodeName: n1, priorityClassName: high, priority: 7"))
	objs[0].(*v1.Pod).Status.Phase = v1.PodRunning
	notes := w.admit(objs...)
	w.check("notes", notes, []string{`PriorityClass high was not given and was created with value 7, as Pod default/p has it`})
	w.check("class", w.state.PriorityClasses[0].Value, int32(7))
}
