package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// revisionsOf returns each ControllerRevision's number and the image in its template, in order of arrival, as "1=a 2=b".
func revisionsOf(t *testing.T, s *cluster.State) string {
	t.Helper()
	var all []string
	for _, revision := range s.ControllerRevisions {
		var ds appsv1.DaemonSet
		if err := json.Unmarshal(revision.Data.Raw, &ds); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d=%s", revision.Revision, ds.Spec.Template.Spec.Containers[0].Image))
	}
	return strings.Join(all, " ")
}

func TestRevisions(t *testing.T) {
	kinds := map[string]func(image string) string{
		"StatefulSet": func(image string) string { return statefulSet(1, image, "") },
		"DaemonSet":   func(image string) string { return daemonSet(image, "}\n") },
	}
	for kind, manifest := range kinds {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, 1, spread)
			for _, step := range []struct{ image, want string }{
				{"a", "1=a"}, {"a", "1=a"}, {"b", "1=a 2=b"},
				{"a", "3=a 2=b"}, // going back makes an old revision the newest
			} {
				w.apply(manifest(step.image))
				w.check("after "+step.image, revisionsOf(t, w.state), step.want)
			}
			revision, pod := w.state.ControllerRevisions[0], w.state.Pods[0]
			owner := metav1.GetControllerOfNoCopy(pod)
			w.check("owner", metav1.GetControllerOfNoCopy(revision), owner)
			hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
			if kind == "StatefulSet" { // the pods of a StatefulSet bear the whole name
				w.check("name", hash, revision.Name)
			} else {
				w.check("name", "agent-"+hash, revision.Name)
			}
			before := w.nodesAndCreation()
			w.state = admission.Delete(w.state, revision)
			w.settle()
			w.check("one that somebody deletes is made again", revisionsOf(t, w.state), "2=b 3=a")
			w.check("with the same name", slices.ContainsFunc(w.state.ControllerRevisions, func(r *appsv1.ControllerRevision) bool { return r.Name == revision.Name }), true)
			w.check("pods", w.nodesAndCreation(), before)
			for _, obj := range w.state.Objects() {
				for key := range obj.GetAnnotations() {
					if strings.HasPrefix(key, "faultline.dev/") {
						t.Errorf("%s %s is annotated %s", cluster.KindOf(obj), obj.GetName(), key)
					}
				}
			}
		})
	}
}

func TestDaemonSetRevisionIsUpstreams(t *testing.T) {
	w := newWorld(t, 1, placeOnTarget)
	w.apply(daemonSet("a", ", volumes: [{name: v, hostPath: {path: /<v>&}}], securityContext: {runAsUser: 9007199254740993}}\n"))
	ds, revision := w.state.DaemonSets[0], w.state.ControllerRevisions[0]
	if matches, err := daemon.Match(ds, revision); err != nil || !matches {
		t.Errorf("upstream does not know its template in %s: %v", revision.Data.Raw, err)
	}
	hash := controller.ComputeHash(&ds.Spec.Template, nil)
	w.check("name", revision.Name, "agent-"+hash)
	w.check("labels", revision.Labels, map[string]string{"app": "agent", "controller-revision-hash": hash})
}

func TestDaemonSetRevisionNameIsTaken(t *testing.T) {
	w := newWorld(t, 1, placeOnTarget)
	w.admit(decode(t, daemonSet("a", "}\n"))...)
	template := &w.state.DaemonSets[0].Spec.Template
	taken := "agent-" + controller.ComputeHash(template, nil)
	w.admit(decode(t, "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: "+taken+"}\nrevision: 1\ndata: {}\n")...)
	w.settle()
	one := int32(1)
	w.check("names", []string{w.state.ControllerRevisions[0].Name, w.state.ControllerRevisions[1].Name},
		[]string{taken, "agent-" + controller.ComputeHash(template, &one)})
}

func TestStatefulSetKeepsItsRevisionHistoryLimit(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	for _, image := range []string{"a", "b", "c", "d"} {
		w.apply(statefulSet(1, image, "  revisionHistoryLimit: 1\n"))
	}
	w.check("the current one and one more", revisionsOf(t, w.state), "3=c 4=d")
}

// asOldDump returns the objects of the state as kubectl get -o json of an older cluster shows them: in another order, and the data
// of ControllerRevisions indented, with a null that newer versions omit, and without a default that they add.
func asOldDump(t *testing.T, s *cluster.State) []cluster.Object {
	t.Helper()
	var dump []cluster.Object
	for _, obj := range s.Objects() {
		obj = obj.DeepCopyObject().(cluster.Object)
		if revision, ok := obj.(*appsv1.ControllerRevision); ok {
			data := bytes.Replace(revision.Data.Raw, []byte(`"metadata":{`), []byte(`"metadata":{"creationTimestamp":null,`), 1)
			data = bytes.Replace(data, []byte(`"dnsPolicy":"ClusterFirst",`), nil, 1)
			if len(data) != len(revision.Data.Raw)+len(`"creationTimestamp":null,`)-len(`"dnsPolicy":"ClusterFirst",`) {
				t.Fatalf("cannot write %s as an older cluster does", data)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, data, "", "  "); err != nil {
				t.Fatal(err)
			}
			revision.Data.Raw = indented.Bytes()
		}
		dump = append([]cluster.Object{obj}, dump...)
	}
	return dump
}

func TestDumpInTheMiddleOfARollout(t *testing.T) {
	const partition = "  updateStrategy: {rollingUpdate: {partition: 2}}\n"
	w := newWorld(t, 3, spread)
	w.apply(statefulSet(3, "a", partition) + "---" + daemonSet("a", "}\n"))
	w.apply(statefulSet(3, "b", partition))
	w.place = func(s *cluster.State, pod *v1.Pod) string { // the first new agent stays Pending, and the rollout stops
		if pod.Labels["app"] == "agent" {
			return ""
		}
		return spread(s, pod)
	}
	w.apply(daemonSet("b", "}\n"))

	again := newWorld(t, 0, w.place)
	again.state.Now = w.state.Now
	again.admit(asOldDump(t, w.state)...)
	again.settle()
	again.check("pods", again.nodesAndCreation(), w.nodesAndCreation())
	again.check("revisions", strings.Count(revisionsOf(t, again.state), "="), 4)
	rollouts := Rollouts(again.state)
	again.check("StatefulSet", []any{rollouts[0].Complete, rollouts[0].Updated, rollouts[0].Old}, []any{true, 1, 2})
	again.check("DaemonSet", []any{rollouts[1].Complete, rollouts[1].Updated, rollouts[1].Old}, []any{false, 1, 2})

	of := func(app string) map[string]string {
		images := map[string]string{}
		for _, pod := range again.state.Pods {
			if pod.Labels["app"] == app {
				images[pod.Name] = pod.Spec.Containers[0].Image
			}
		}
		return images
	}
	for _, pod := range again.state.Pods {
		if pod.Name == "db-0" {
			again.state = admission.Delete(again.state, pod)
		}
	}
	again.place = spread
	again.settle()
	again.check("below the partition a pod comes back as it was", of("db"), map[string]string{"db-0": "a", "db-1": "a", "db-2": "b"})
	for name, image := range of("agent") {
		again.check("the rollout of the DaemonSet goes on: "+name, image, "b")
	}
}

func TestOrphansAreAdopted(t *testing.T) {
	w := newWorld(t, 2, spread)
	manifests := statefulSet(2, "a", "") + "---" + daemonSet("a", "}\n") + "---" + deployment("web", 2, "a", "")
	w.apply(manifests)
	before, revisions := w.nodesAndCreation(), revisionsOf(t, w.state)
	// As kubectl delete --cascade=orphan leaves them.
	w.state = w.state.Without(w.state.StatefulSets[0], w.state.DaemonSets[0], w.state.Deployments[0])
	var orphans []cluster.Object
	for _, obj := range w.state.Objects() {
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil && ref.Kind != "ReplicaSet" {
			orphan := obj.DeepCopyObject().(cluster.Object)
			orphan.SetOwnerReferences(nil)
			orphans = append(orphans, orphan)
		}
	}
	w.check("orphans", len(orphans), 7) // four pods, two ControllerRevisions, a ReplicaSet
	w.state = w.state.With(orphans...)
	w.apply(manifests)
	w.check("pods", w.nodesAndCreation(), before)
	w.check("revisions", revisionsOf(t, w.state), revisions)
	for _, obj := range w.state.Objects() {
		switch cluster.KindOf(obj) {
		case "Pod", "ControllerRevision", "ReplicaSet":
			if metav1.GetControllerOfNoCopy(obj) == nil {
				t.Errorf("%s %s is still an orphan", cluster.KindOf(obj), obj.GetName())
			}
		}
	}
}
