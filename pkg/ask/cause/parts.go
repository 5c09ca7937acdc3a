package cause

import (
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	corehelper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/cluster"
)

// requestParts returns the parts of the pod's effective request for a resource; nil if one container of the template alone makes it. Containers and sidecars run
// side by side, so their requests add up. Init containers run before them, one after the other, so only the largest counts, together with
// the sidecars that started before it. Pod-level requests replace both. See PodRequests in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/component-helpers/resource/helpers.go.
func (v *view) requestParts(name v1.ResourceName) []Part {
	var all []Part
	pod := v.pod
	if asked, given := podLevelRequest(pod, name); given {
		containers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
		all = []Part{newPart("pod-level requests", asked), newPart("its containers", containers[name])}
	} else {
		all = containerParts(pod, name)
	}
	if overhead, given := pod.Spec.Overhead[name]; given && !overhead.IsZero() {
		all = append(all, newPart("overhead of runtime class "+runtimeClass(pod), overhead))
	}
	v.addDefaults(all, name)
	v.markLimits(all, name)
	if len(all) == 1 && all[0].LimitRange == "" && !all[0].ByLimit && len(pod.Spec.Containers) == 1 && all[0].Of == "container "+pod.Spec.Containers[0].Name {
		return nil
	}
	return all
}

// text returns, for example, "container web 3", "container web 3 by LimitRange limits" or "container web 3, its limit, as it has no request".
func (p Part) text() string {
	text := p.Of + " " + p.Asked
	switch {
	case p.LimitRange != "":
		text += " by LimitRange " + p.LimitRange
	case p.ByLimit:
		text += ", its limit, as it has no request"
	}
	return text
}

// markLimits marks the parts of containers whose template gives a limit and no request, of resources of which these may differ.
func (v *view) markLimits(parts []Part, name v1.ResourceName) {
	by := metav1.GetControllerOfNoCopy(v.pod)
	if by == nil || !corehelper.IsOvercommitAllowed(name) {
		return
	}
	obj := v.state.Find(cluster.Ref{Kind: by.Kind, Namespace: v.pod.Namespace, Name: by.Name})
	if obj == nil {
		return
	}
	template, _ := cluster.Template(obj)
	if template == nil {
		return
	}
	for _, c := range template.Spec.Containers {
		_, requested := c.Resources.Requests[name]
		_, limited := c.Resources.Limits[name]
		for i := range parts {
			parts[i].ByLimit = parts[i].ByLimit || limited && !requested && parts[i].Of == "container "+c.Name
		}
	}
}

// defaultsPattern matches what the LimitRanger writes into the annotation limitRangerAnnotation, such as "cpu, memory request for container c".
var defaultsPattern = regexp.MustCompile(`([^:;]+) request for (container|init container) (\S+?)(?:;|$)`)

// limitRangerAnnotation lists the defaults that a pod has from LimitRanges. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/limitranger/admission.go.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// addDefaults adds to the parts which LimitRange gave them, by the pod's annotation.
func (v *view) addDefaults(parts []Part, name v1.ResourceName) {
	for _, found := range defaultsPattern.FindAllStringSubmatch(v.pod.Annotations[limitRangerAnnotation], -1) {
		if !slices.Contains(strings.Split(strings.TrimSpace(found[1]), ", "), string(name)) {
			continue
		}
		at := slices.IndexFunc(v.state.LimitRanges, func(l *v1.LimitRange) bool {
			return l.Namespace == v.pod.Namespace && slices.ContainsFunc(l.Spec.Limits, func(item v1.LimitRangeItem) bool {
				_, given := item.DefaultRequest[name]
				return given && item.Type == v1.LimitTypeContainer
			})
		})
		for i := range parts {
			if of := found[2] + " " + found[3]; at >= 0 && (parts[i].Of == of || parts[i].Of == "sidecar "+found[3]) {
				parts[i].LimitRange = v.state.LimitRanges[at].Name
			}
		}
	}
}

func newPart(of string, asked resource.Quantity) Part {
	return Part{Of: of, Asked: quantityText(asked), asked: asked}
}

func podLevelRequest(pod *v1.Pod, name v1.ResourceName) (asked resource.Quantity, given bool) {
	if !resourcehelper.IsPodLevelRequestsSet(pod) || !resourcehelper.IsSupportedPodLevelResource(name) {
		return asked, false
	}
	asked, given = pod.Spec.Resources.Requests[name]
	return asked, given
}

// containerParts returns the parts at the moment when the pod asks for the most: while one init container runs, or after all of them.
func containerParts(pod *v1.Pod, name v1.ResourceName) []Part {
	var sidecars, most []Part
	var largest resource.Quantity
	consider := func(parts []Part) {
		if sum := sumParts(parts); most == nil || sum.Cmp(largest) > 0 {
			most, largest = parts, sum
		}
	}
	running := []Part{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			sidecars = appendAsked(sidecars, "sidecar "+c.Name, c.Resources.Requests[name])
		}
	}
	running = append(running, sidecars...)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		running = appendAsked(running, "container "+c.Name, c.Resources.Requests[name])
	}
	consider(running)
	var before []Part
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			before = appendAsked(before, "sidecar "+c.Name, c.Resources.Requests[name])
			continue
		}
		consider(appendAsked(before[:len(before):len(before)], "init container "+c.Name, c.Resources.Requests[name]))
	}
	return most
}

func appendAsked(parts []Part, of string, asked resource.Quantity) []Part {
	if asked.IsZero() {
		return parts
	}
	return append(parts, newPart(of, asked))
}

func sumParts(parts []Part) resource.Quantity {
	var sum resource.Quantity
	for _, part := range parts {
		sum.Add(part.asked)
	}
	return sum
}

func runtimeClass(pod *v1.Pod) string {
	if pod.Spec.RuntimeClassName == nil {
		return "none"
	}
	return *pod.Spec.RuntimeClassName
}
