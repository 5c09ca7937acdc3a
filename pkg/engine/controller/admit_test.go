package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

const barePod = `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: a}]%s}
`

func pod(more string) string { return strings.Replace(barePod, "%s", more, 1) }

func TestApplyKeepsWhatIsTheClusters(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
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

// nodesAndCreation returns each pod's node and creation time. A pod that was replaced has a later time.
func (w *world) nodesAndCreation() map[string]string {
	all := map[string]string{}
	for _, pod := range w.state.Pods {
		all[pod.Name] = pod.Spec.NodeName + " " + pod.CreationTimestamp.String()
	}
	return all
}

// newRunningWorld returns a cluster in which each kind of workload runs, after two rollouts.
func newRunningWorld(t *testing.T) *world {
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
		// edit returns the object as the dump has it; nil if the dump lacks it.
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
			w := newRunningWorld(t)
			before := w.nodesAndCreation()
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
			again.check("pods", again.nodesAndCreation(), before)
			for _, r := range Rollouts(again.state) {
				again.check(r.Kind, []any{r.Complete, r.Old}, []any{true, 0})
			}
		})
	}
}

// The ReplicaSets of two revisions are missing, and the pods' hashes are of another Kubernetes version. The current revision is the one
// whose containers equal the template's, even if the pods have requests where the template has only limits. The other revision is newer, as
// after a rollback.
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
	again.check("pods", again.nodesAndCreation(), w.nodesAndCreation())
}

func TestDumpWithForeignHashes(t *testing.T) {
	// A cluster of another version has other hashes than this version computes.
	w := newRunningWorld(t)
	before := w.nodesAndCreation()
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
	again.check("pods", again.nodesAndCreation(), before)
	again.apply(daemonSet("c", "}\n") + "---" + workload("StatefulSet", "db", 2, "c", "  serviceName: db\n"))
	for _, p := range again.state.Pods {
		if p.Labels["app"] == "agent" || p.Labels["app"] == "db" {
			again.check("updated "+p.Name, p.Spec.Containers[0].Image, "c")
		}
	}
}

func TestOwnerMayComeLater(t *testing.T) {
	w := newRunningWorld(t)
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
	again.check("pods", again.nodesAndCreation(), w.nodesAndCreation())
}

func TestDelete(t *testing.T) {
	w := newRunningWorld(t)
	count := func(s *cluster.State) map[string]int {
		all := map[string]int{}
		for _, obj := range s.Objects() {
			all[cluster.KindOf(obj)]++
		}
		return all
	}
	w.check("all", count(w.state), map[string]int{"Namespace": 1, "Node": 2, "Pod": 9, "Deployment": 1, "ReplicaSet": 2, "StatefulSet": 1, "DaemonSet": 1, "ControllerRevision": 4, "Job": 1})
	s := admission.Delete(w.state, w.state.Deployments[0])
	w.check("with a Deployment go its ReplicaSets and pods", count(s), map[string]int{"Namespace": 1, "Node": 2, "Pod": 6, "StatefulSet": 1, "DaemonSet": 1, "ControllerRevision": 4, "Job": 1})
	s = admission.Delete(w.state, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.check("with a Namespace goes all in it", count(s), map[string]int{"Node": 2})
	if admission.Delete(w.state, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}) != w.state {
		t.Error("what is not there was deleted")
	}
}

func TestDeleteNode(t *testing.T) {
	w := newWorld(t, 2, onePerNode)
	w.apply(replicaSet(2) + "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: []}\n")
	s := admission.Delete(w.state, w.state.Node("n1"))
	w.check("its CSINode and its pods go, not their ReplicaSet", []int{len(s.Nodes), len(s.CSINodes), len(s.Pods), len(s.ReplicaSets)}, []int{1, 0, 1, 1})
}
