package verify

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

// templates reconstructs a pod that is gone from its controller's template, or from another pod of that controller.
type templates struct {
	states         []*cluster.State                 // the dump, then other states
	siblings       map[types.NamespacedName]*v1.Pod // a pod of each owner, for owners that no state has
	podsByTemplate map[string]*v1.Pod
}

func newTemplates(states ...*cluster.State) *templates {
	t := &templates{siblings: map[types.NamespacedName]*v1.Pod{}, podsByTemplate: map[string]*v1.Pod{}}
	for _, state := range states {
		if state == nil {
			continue
		}
		t.states = append(t.states, state)
		for _, pod := range state.Pods {
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
				if key := (types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}); t.siblings[key] == nil {
					t.siblings[key] = pod
				}
			}
		}
	}
	return t
}

// generatedSuffix matches the end of a name that a controller generated.
var generatedSuffix = regexp.MustCompile(`-([bcdfghjklmnpqrstvwxz2456789]{5}|[0-9]+)$`)

// podOf returns the pod of that life as its controller created it, or nil if it is unknown.
func (t *templates) podOf(l *podLife) *v1.Pod {
	if l.sourcePod != nil {
		return t.bindAs(l.sourcePod, l)
	}
	name := l.ownerName()
	for _, state := range t.states {
		if pod := t.podFromState(state, l, name); pod != nil {
			return pod
		}
	}
	if sibling := t.siblings[types.NamespacedName{Namespace: l.name.Namespace, Name: name}]; sibling != nil {
		return t.bindAs(sibling, l)
	}
	return nil
}

func (t *templates) podFromState(state *cluster.State, l *podLife, owner string) *v1.Pod {
	is := func(o metav1.Object) bool { return o.GetNamespace() == l.name.Namespace && o.GetName() == owner }
	if i := slices.IndexFunc(state.ReplicaSets, func(o *appsv1.ReplicaSet) bool { return is(o) }); i >= 0 {
		o := state.ReplicaSets[i]
		return t.podFromTemplate(&o.Spec.Template, o, "ReplicaSet", "", l)
	}
	if i := slices.IndexFunc(state.ReplicationControllers, func(o *v1.ReplicationController) bool { return is(o) }); i >= 0 {
		o := state.ReplicationControllers[i]
		return t.podFromTemplate(o.Spec.Template, o, "ReplicationController", "", l)
	}
	if i := slices.IndexFunc(state.StatefulSets, func(o *appsv1.StatefulSet) bool { return is(o) }); i >= 0 {
		o := state.StatefulSets[i]
		template, revision := t.templateAt(state, o, &o.Spec.Template, l)
		return t.podFromTemplate(template, o, "StatefulSet", revision, l)
	}
	if i := slices.IndexFunc(state.DaemonSets, func(o *appsv1.DaemonSet) bool { return is(o) }); i >= 0 {
		o := state.DaemonSets[i]
		template, revision := t.templateAt(state, o, &o.Spec.Template, l)
		return t.podFromTemplate(template, o, "DaemonSet", revision, l)
	}
	for _, o := range state.Jobs {
		if is(o) {
			return t.podFromTemplate(&o.Spec.Template, o, "Job", "", l)
		}
	}
	for _, o := range state.CronJobs { // a Job's name is its CronJob's name and the time
		if o.Namespace == l.name.Namespace && o.Name == generatedSuffix.ReplaceAllString(owner, "") {
			return t.podFromTemplate(&o.Spec.JobTemplate.Spec.Template, o, "CronJob", "", l)
		}
	}
	return nil
}

// templateAt returns the template of a StatefulSet or DaemonSet at the time of that life, and the name of its ControllerRevision; the current
// template and "" if there is no such revision.
func (t *templates) templateAt(state *cluster.State, owner cluster.Object, now *v1.PodTemplateSpec, l *podLife) (*v1.PodTemplateSpec, string) {
	var then *appsv1.ControllerRevision
	for _, r := range state.ControllerRevisions {
		if ref := metav1.GetControllerOfNoCopy(r); ref == nil || ref.UID != owner.GetUID() || r.CreationTimestamp.After(l.at) {
			continue
		}
		if then == nil || r.CreationTimestamp.After(then.CreationTimestamp.Time) {
			then = r
		}
	}
	if then == nil {
		return now, ""
	}
	var patch struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(then.Data.Raw, &patch); err != nil {
		return now, ""
	}
	return &patch.Spec.Template, then.Name
}

// podFromTemplate returns the pod that the template gives for that life. The pods of one template share all other fields.
func (t *templates) podFromTemplate(template *v1.PodTemplateSpec, owner cluster.Object, kind, revision string, l *podLife) *v1.Pod {
	key := strings.Join([]string{kind, owner.GetNamespace(), owner.GetName(), revision}, "/")
	if t.podsByTemplate[key] == nil {
		gvk := appsv1.SchemeGroupVersion.WithKind(kind)
		pod, err := controller.GetPodFromTemplate(template, owner, metav1.NewControllerRef(owner, gvk))
		if err != nil {
			return nil // a template without labels, which no API server accepts
		}
		pod.Namespace = owner.GetNamespace()
		legacyscheme.Scheme.Default(pod)
		t.podsByTemplate[key] = pod
	}
	return t.bindAs(t.podsByTemplate[key], l)
}

// bindAs returns a copy of the pod with the name, the UID and the node of that life.
func (t *templates) bindAs(like *v1.Pod, l *podLife) *v1.Pod {
	pod := cluster.BindPod(like, l.node, l.at)
	pod.Name, pod.GenerateName, pod.UID = l.name.Name, "", l.uid
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	if pod.UID == "" {
		pod.UID = types.UID(l.name.String() + "@" + l.node)
	}
	return pod
}
