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

// stand gives all pods the form in which they stood on their nodes. Of those that are gone some are unknown, and the pods of nodes that
// are gone, too, matter no more.
func (r *replay) stand(h *History) {
	templates := newTemplates(r.State, h.earlier)
	deployments := map[types.NamespacedName]string{}
	for _, f := range h.facts {
		if f.what == scaledSet {
			deployments[f.pod] = f.owner.Name
		}
	}
	groups := map[types.NamespacedName]*unknownPods{}
	r.past.lives = slices.DeleteFunc(r.past.lives, func(l *life) bool {
		if l.present {
			l.stand(l.pod)
			return false
		}
		l.given = true
		if r.State.Node(l.node) == nil {
			return true
		}
		if l.pod = templates.pod(l); l.pod != nil {
			l.stand(l.pod)
		}
		endless := l.asked == nil && l.gone == nil
		if l.pod != nil && !endless {
			return false
		}
		workload := types.NamespacedName{Namespace: l.name.Namespace, Name: l.ownerName()}
		if l.pod == nil {
			workload.Name = cmp.Or(deployments[workload], hash.ReplaceAllString(workload.Name, ""))
		}
		g := groups[workload]
		if g == nil {
			g = &unknownPods{workload: workload, endless: map[*life]bool{}, forms: []form{{pods: map[*life]*v1.Pod{}}}}
			groups[workload] = g
			if l.pod == nil {
				g.forms = r.forms()
			}
		}
		r.unknown[l] = g
		if endless {
			g.endless[l] = true
		}
		if l.seen.After(g.seen) {
			g.seen = l.seen
		}
		for i, form := range g.forms {
			if form.pods[l] = l.running; l.pod == nil {
				form.pods[l] = r.like(l, i, form.requests, workload.Name)
			}
		}
		return false
	})
}

// forms are what the pods of a workload can have been like of which nothing is known.
func (r *replay) forms() []form {
	var forms []form
	for _, amounts := range requests(r.State) {
		forms = append(forms, form{requests: amounts, pods: map[*life]*v1.Pod{}})
	}
	return forms
}

// like is a pod of that life in the nth form: with these requests, and with the labels that the workloads of the dump bear their own
// names by. Each form has a UID of its own, as a scheduler takes what has the same for the same.
func (r *replay) like(l *life, n int, amounts v1.ResourceList, workload string) *v1.Pod {
	labels := map[string]string{}
	for _, key := range r.labelKeys {
		labels[key] = workload
	}
	return cluster.Bind(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.name.Namespace, Name: l.name.Name, UID: types.UID(fmt.Sprint(l.uid, "/", n)), Labels: labels},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "unknown", Resources: v1.ResourceRequirements{Requests: amounts}}}},
	}, l.node, l.at)
}

// stand makes of the pod what stands on its node, before and after its deletion was asked for. A start time that no other pod has is
// what a scheduler wants; with it, the same pod need not be looked at again.
func (l *life) stand(pod *v1.Pod) {
	running := *pod
	start := metav1.NewTime(l.at.Truncate(time.Second).Add(1))
	running.Status.StartTime = &start
	running.DeletionTimestamp = nil
	ending := running
	ending.DeletionTimestamp = &start
	l.running, l.ending = &running, &ending
}

// hash is the end of a ReplicaSet's name that comes from its template.
var hash = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{1,10}$`)

// ownerName is the name of the pod's controller, as it was recorded or as the pod's name has it.
func (l *life) ownerName() string {
	if l.owner != nil {
		return l.owner.Name
	}
	return suffix.ReplaceAllString(l.name.Name, "")
}

// labelKeys are the labels by which most pods bear the name of their workload.
func labelKeys(state *cluster.State) []string {
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
