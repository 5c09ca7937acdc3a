package controller

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
)

// newOwnersWorld has the pods a-0 and a-1 of an unknown owner on nodes of their own, and a bare pod with the same labels. Pods take a second to end.
func newOwnersWorld(t *testing.T, spec cluster.UnknownOwnerSpec) *world {
	t.Helper()
	w := newWorld(t, 3, onePerNode)
	w.state.TerminationSeconds = 1
	replicas, labels := int32(2), map[string]string{"app": "web"}
	owner := &cluster.UnknownOwner{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Thing"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "thing"}, Spec: spec}
	owner.Spec.Replicas = &replicas
	owner.Spec.Template = v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-gen-", Labels: labels},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "newest"}}}}
	objects := []cluster.Object{owner}
	for _, name := range []string{"a-0", "a-1", "bare"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: labels},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: name}}}}
		if name != "bare" {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
		}
		objects = append(objects, cluster.BindPod(pod, "n"+fmt.Sprint(len(objects)), w.state.Now.Time))
	}
	w.admit(objects...)
	w.settle()
	return w
}

func specOfNamed(names ...string) cluster.UnknownOwnerSpec {
	var spec cluster.UnknownOwnerSpec
	for _, name := range names {
		spec.Named = append(spec.Named, v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: name}}}})
	}
	return spec
}

// describeOwnedPods lists the pods of the owner with their images, and with ! if they are Terminating. It shows generated names without their random
// part.
func (w *world) describeOwnedPods() string {
	var all []string
	for _, pod := range w.state.Pods {
		if metav1.GetControllerOf(pod) == nil {
			continue
		}
		text := pod.Name
		if pod.GenerateName == "a-gen-" && strings.HasPrefix(pod.Name, "a-gen-") {
			text = "a-gen-"
		}
		if text += ":" + pod.Spec.Containers[0].Image; pod.DeletionTimestamp != nil {
			text += "!"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// A pod with a generated name is replaced as soon as it is Terminating, by a pod of the newest template. A pod that keeps its name comes
// back when it has ended, with its own spec. The bare pod with the same labels stays bare.
func TestUnknownOwnerReplaces(t *testing.T) {
	for name, test := range map[string]struct {
		spec        cluster.UnknownOwnerSpec
		during, end string
	}{
		"generated names": {cluster.UnknownOwnerSpec{}, "a-0:a-0! a-1:a-1 a-gen-:newest", "a-1:a-1 a-gen-:newest"},
		"kept names":      {specOfNamed("a-0", "a-1"), "a-0:a-0! a-1:a-1", "a-1:a-1 a-0:a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newOwnersWorld(t, test.spec)
			w.check("at rest", w.describeOwnedPods(), "a-0:a-0 a-1:a-1")
			w.state = admission.Terminate(w.state, "", w.state.Pods[0])
			w.step()
			w.check("while it terminates", w.describeOwnedPods(), test.during)
			w.settle()
			w.waitOut()
			w.check("after its end", w.describeOwnedPods(), test.end)
			if len(w.state.Pods) != 3 || w.state.Pods[0].UID == "a-0" {
				t.Errorf("pods %v, the first is %s; want three, and a-0 gone", w.pods(), w.state.Pods[0].UID)
			}
		})
	}
}

// Additional replicas get the next names. The pods with the highest names are deleted first.
func TestUnknownOwnerScales(t *testing.T) {
	w := newOwnersWorld(t, specOfNamed("a-0", "a-1"))
	for _, step := range []struct {
		replicas int32
		want     string
	}{{4, "a-0:a-0 a-1:a-1 a-2:newest a-3:newest"}, {1, "a-0:a-0"}, {2, "a-0:a-0 a-1:a-1"}} {
		scaled := w.state.UnknownOwners[0].DeepCopyObject().(*cluster.UnknownOwner)
		scaled.Spec.Replicas = &step.replicas
		w.admit(scaled)
		w.settle()
		w.waitOut()
		w.check(fmt.Sprint(step.replicas), w.describeOwnedPods(), step.want)
	}
}

// A budget of maxUnavailable 1 allows one of two pods if the kind has a scale. Otherwise it allows none, and the eviction says why.
func TestUnknownOwnerAndBudgets(t *testing.T) {
	for _, unscaled := range []bool{false, true} {
		spec := specOfNamed("a-0", "a-1")
		spec.Unscaled = unscaled
		w := newOwnersWorld(t, spec)
		w.state = w.state.Without(w.state.Pods[2])
		w.apply(budget("web", "maxUnavailable: 1"))
		allowed, reason, message := int32(1), policyv1.SufficientPodsReason, ""
		if unscaled {
			allowed, reason, message = 0, policyv1.SyncFailedReason, "things.example.com does not implement the scale subresource"
		}
		pdb := w.state.PodDisruptionBudgets[0]
		condition := meta.FindStatusCondition(pdb.Status.Conditions, policyv1.DisruptionAllowedCondition)
		w.check("allowed", pdb.Status.DisruptionsAllowed, allowed)
		w.check("condition", condition.Reason+condition.Message, reason+message)
		if _, err := node.Evict(w.state, w.state.Pods[0]); unscaled {
			w.check("eviction", fmt.Sprint(err), "Pod default/a-0: Cannot evict pod as it would violate the pod's disruption budget. "+
				"The disruption budget web does not allow evicting pods currently because it failed sync: "+message)
		} else if err != nil {
			t.Error(err)
		}
	}
}
