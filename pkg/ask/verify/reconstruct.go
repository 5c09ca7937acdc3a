package verify

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// reconstructPods reconstructs the pods on their nodes, and groups the pods that are gone and not fully known. It drops the pods of nodes that are
// also gone, because they no longer matter.
func (r *replay) reconstructPods(h *History) {
	templates := newTemplates(r.State, h.earlier)
	deployments := map[types.NamespacedName]string{}
	for _, f := range h.facts {
		if f.kind == replicaSetScaled {
			deployments[f.pod] = f.owner.Name
		}
	}
	groups := map[types.NamespacedName]*unknownPods{}
	r.past.lives = slices.DeleteFunc(r.past.lives, func(l *podLife) bool {
		if l.inDump {
			l.setRunningPods(l.pod)
			return false
		}
		l.skipped = true
		if r.State.Node(l.node) == nil {
			return true
		}
		if l.pod = templates.podOf(l); l.pod != nil {
			l.setRunningPods(l.pod)
		}
		endless := l.deletionRequest == nil && l.gone == nil
		if l.pod != nil && !endless {
			return false
		}
		workload := types.NamespacedName{Namespace: l.name.Namespace, Name: l.ownerName()}
		if l.pod == nil {
			workload.Name = cmp.Or(deployments[workload], templateHash.ReplaceAllString(workload.Name, ""))
		}
		g := groups[workload]
		if g == nil {
			g = &unknownPods{workload: workload, endless: map[*podLife]bool{}, forms: []podForm{{pods: map[*podLife]*v1.Pod{}}}}
			groups[workload] = g
			if l.pod == nil {
				g.forms = r.possibleForms()
			}
		}
		r.unknownByLife[l] = g
		if endless {
			g.endless[l] = true
		}
		if l.existedAt.After(g.existedUntil) {
			g.existedUntil = l.existedAt
		}
		for i, form := range g.forms {
			if form.pods[l] = l.running; l.pod == nil {
				form.pods[l] = r.makeUpPod(l, i, form.requests, workload.Name)
			}
		}
		return false
	})
}

// possibleForms returns the possible forms of the pods of an unknown workload.
func (r *replay) possibleForms() []podForm {
	var forms []podForm
	for _, amounts := range possibleRequests(r.State) {
		forms = append(forms, podForm{requests: amounts, pods: map[*podLife]*v1.Pod{}})
	}
	return forms
}

// makeUpPod returns the pod of that life in the nth form: with these requests, and with the labels that carry workload names in the dump. Each
// form has its own UID, since a scheduler treats pods with the same UID as the same pod.
func (r *replay) makeUpPod(l *podLife, n int, amounts v1.ResourceList, workload string) *v1.Pod {
	labels := map[string]string{}
	for _, key := range r.labelKeys {
		labels[key] = workload
	}
	return cluster.BindPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.name.Namespace, Name: l.name.Name, UID: types.UID(fmt.Sprint(l.uid, "/", n)), Labels: labels},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "unknown", Resources: v1.ResourceRequirements{Requests: amounts}}}},
	}, l.node, l.at)
}

// setRunningPods sets running and ending from the pod. The scheduler needs unique start times; setting them here lets equal pods share one verdict.
func (l *podLife) setRunningPods(pod *v1.Pod) {
	running := *pod
	start := metav1.NewTime(l.at.Truncate(time.Second).Add(1))
	running.Status.StartTime = &start
	running.DeletionTimestamp = nil
	ending := running
	ending.DeletionTimestamp = &start
	l.running, l.ending = &running, &ending
}

// templateHash matches the end of a ReplicaSet's name that derives from the hash of its template.
var templateHash = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{1,10}$`)

// ownerName returns the name of the pod's controller, as recorded or derived from the pod's name.
func (l *podLife) ownerName() string {
	if l.owner != nil {
		return l.owner.Name
	}
	return generatedSuffix.ReplaceAllString(l.name.Name, "")
}

// workloadLabelKeys returns the labels with which most pods carry the name of their workload.
func workloadLabelKeys(state *cluster.State) []string {
	count, all := map[string]int{}, 0
	owner := state.Owners()
	for _, pod := range state.Pods {
		all++
		name := owner(pod).Name
		for key, value := range pod.Labels {
			if value == name {
				count[key]++
			}
		}
	}
	var keys []string
	for key, n := range count {
		if 2*n > all {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
