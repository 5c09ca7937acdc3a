package controller

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

// podCount counts active pods: all of them, those with the template's labels, and those that are ready.
type podCount struct{ active, labelled, ready int32 }

// addPod counts the pod n times; -1 takes it back.
func (c *podCount) addPod(pod *v1.Pod, template labels.Selector, n int32) {
	c.active += n
	if template.Matches(labels.Set(pod.Labels)) {
		c.labelled += n
	}
	if podutil.IsPodReady(pod) {
		c.ready += n
	}
}

// ownCount counts a ReplicaSet's active pods: those that its selector matches, and the foreign ones, which it does not match.
type ownCount struct {
	podCount
	foreign int32
	pods    *cluster.Group
}

// countOwnPods counts the active pods of a ReplicaSet. It looks only at pods that have changed since the last time. It returns false if the
// ReplicaSet may have to adopt or release pods; [pass.claimPods] then finds its pods.
func (p *pass) countOwnPods(r replicaController) (podCount, bool) {
	pods, all := p.owned.ownGroup(r.set.UID)
	selector, err := p.parseSelector(r.set, r.set.Spec.Selector)
	if !all || err != nil {
		return podCount{}, false
	}
	own := recallOrCompute(&p.memory, subject{podCounts, r.set.UID}, []any{r.set.Spec.Selector, newTemplateID(r.object, &r.set.Spec.Template)}, func() *ownCount { return &ownCount{} })
	if own.pods != pods {
		template := labels.Set(r.set.Spec.Template.Labels).AsSelectorPreValidated()
		add := func(pod *v1.Pod, n int32) {
			switch {
			case pod == nil || !controller.IsPodActive(pod):
			case selector.Matches(labels.Set(pod.Labels)):
				own.addPod(pod, template, n)
			default:
				own.foreign += n
			}
		}
		cluster.VisitChanges(own.pods.Pods(), pods.Pods(), func(was, is *v1.Pod, _ int) {
			add(was, -1)
			add(is, 1)
		})
		own.pods = pods
	}
	return own.podCount, own.foreign == 0
}
