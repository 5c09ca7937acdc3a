package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes that keep to the bounds of a LimitRange or a namespace, or move these.

// defaults lets a LimitRange give the amounts to the containers of the namespace that lack them.
func (d *deniedWorkload) defaults(requests, limits v1.ResourceList) candidate {
	of := &v1.LimitRange{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"}, ObjectMeta: metav1.ObjectMeta{Name: "defaults", Namespace: d.owner.Namespace},
		Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{{Type: v1.LimitTypeContainer, DefaultRequest: requests, Default: limits}}}}
	given := list.Map(sortedNames(requests), func(name v1.ResourceName) string { return "a request of " + amountOf(requests, name) })
	given = append(given, list.Map(sortedNames(limits), func(name v1.ResourceName) string { return "a limit of " + amountOf(limits, name) })...)
	return candidate{change: fmt.Sprintf("create a LimitRange in namespace %s that gives containers %s", d.owner.Namespace, words.And(given)),
		price: []string{"holds for all new pods of the namespace"}, objects: []cluster.Object{of}}
}

func amountOf(amounts v1.ResourceList, name v1.ResourceName) string {
	amount := amounts[name]
	return amount.String() + " " + string(name)
}

func sortedNames(amounts v1.ResourceList) []v1.ResourceName { return slices.Sorted(maps.Keys(amounts)) }

// keepBounds changes the containers that break the bounds of a LimitRange as little as it takes.
func (d *deniedWorkload) keepBounds(denial *cause.Denial) []attempt {
	if d.spec == nil {
		return nil
	}
	var says []string
	var edits []func(*v1.Container)
	for _, a := range denial.Amounts {
		value, err := resource.ParseQuantity(a.Value)
		if err != nil || a.Of != v1.LimitTypeContainer {
			return nil
		}
		now := ""
		if a.Asked != "" {
			now = fmt.Sprintf(" (now %s)", a.Asked)
		}
		name := a.Resource
		switch a.Bound {
		case "maximum":
			says = append(says, fmt.Sprintf("a %s of at most %s %s%s", a.Field, a.Value, name, now))
			edits = append(edits, func(c *v1.Container) { atMostOf(&c.Resources, name, value) })
		case "minimum":
			says = append(says, fmt.Sprintf("a %s of at least %s %s%s", a.Field, a.Value, name, now))
			edits = append(edits, func(c *v1.Container) { atLeast(&c.Resources, name, value) })
		case "default":
			asked, err := resource.ParseQuantity(a.Asked)
			if err != nil {
				return nil
			}
			says = append(says, fmt.Sprintf("a limit of at least %s %s, which is the request", a.Asked, name))
			edits = append(edits, func(c *v1.Container) {
				if request := c.Resources.Requests[name]; request.Cmp(value) > 0 {
					fillIn(&c.Resources.Limits, v1.ResourceList{name: asked})
				}
			})
		default:
			return nil
		}
	}
	if len(edits) == 0 {
		return nil
	}
	return []attempt{d.attemptOne(candidate{change: "give its containers " + words.And(says), edit: func(spec *v1.PodSpec) {
		for _, edit := range edits {
			for i := range spec.InitContainers {
				edit(&spec.InitContainers[i])
			}
			for i := range spec.Containers {
				edit(&spec.Containers[i])
			}
		}
	}})}
}

// keepRatio returns the attempts that keep to the largest ratio of limit to request: more requested, or a lower limit.
func (d *deniedWorkload) keepRatio(denial *cause.Denial) []attempt {
	var all []attempt
	for _, a := range denial.Amounts {
		ratio, err := resource.ParseQuantity(a.Value)
		if d.spec == nil || err != nil || a.Bound != "maxLimitRequestRatio" || a.Of != v1.LimitTypeContainer {
			continue
		}
		all = append(all, d.changeRatios("request at least", a.Resource, ratio.MilliValue(), true), d.changeRatios("lower the limit to", a.Resource, ratio.MilliValue(), false))
	}
	return slices.DeleteFunc(all, func(a attempt) bool { return a.try == nil })
}

// changeRatios returns the attempt that raises the request, or lowers the limit, of each container whose limit is more than thousandths/1000 times its
// request. It has no try if there is no such container.
func (d *deniedWorkload) changeRatios(what string, name v1.ResourceName, thousandths int64, raises bool) attempt {
	unit := unitOf(name)
	bounded := func(of *v1.ResourceRequirements) (amounts v1.ResourceList, to resource.Quantity, breaks bool) {
		request, limit := unit.amount(of.Requests[name]), unit.amount(of.Limits[name])
		switch {
		case request == 0 || limit*1000 <= request*thousandths:
			return nil, to, false
		case raises:
			return of.Requests, unit.quantity((limit*1000 + thousandths - 1) / thousandths), true
		}
		return of.Limits, unit.quantity(request * thousandths / 1000), true
	}
	var says []string
	for i := range d.spec.Containers {
		if amounts, to, breaks := bounded(&d.spec.Containers[i].Resources); breaks {
			now := amounts[name]
			says = append(says, fmt.Sprintf("%s %s in container %s (now %s)", to.String(), name, d.spec.Containers[i].Name, now.String()))
		}
	}
	if len(says) == 0 {
		return attempt{}
	}
	return d.attemptOne(candidate{change: what + " " + words.And(says), edit: func(spec *v1.PodSpec) {
		for i := range spec.Containers {
			if amounts, to, breaks := bounded(&spec.Containers[i].Resources); breaks {
				amounts[name] = to
			}
		}
	}})
}

// atMostOf lowers a request and a limit that are larger, and sets a limit where there is none.
func atMostOf(of *v1.ResourceRequirements, name v1.ResourceName, most resource.Quantity) {
	if request, given := of.Requests[name]; given && request.Cmp(most) > 0 {
		of.Requests[name] = most
	}
	if limit, given := of.Limits[name]; !given || limit.Cmp(most) > 0 {
		delete(of.Limits, name)
		fillIn(&of.Limits, v1.ResourceList{name: most})
	}
}

// atLeast raises a request that is smaller, and a limit that is.
func atLeast(of *v1.ResourceRequirements, name v1.ResourceName, least resource.Quantity) {
	if request, given := of.Requests[name]; !given || request.Cmp(least) < 0 {
		delete(of.Requests, name)
		fillIn(&of.Requests, v1.ResourceList{name: least})
	}
	if limit, given := of.Limits[name]; given && limit.Cmp(least) < 0 {
		of.Limits[name] = least
	}
}

// moveBounds lets the LimitRange allow what is asked.
func (d *deniedWorkload) moveBounds(denial *cause.Denial) []attempt {
	_, name, _ := strings.Cut(denial.Object, "/")
	at := slices.IndexFunc(d.step.State.LimitRanges, func(l *v1.LimitRange) bool { return l.Namespace == d.owner.Namespace && l.Name == name })
	if at < 0 {
		return nil
	}
	was := d.step.State.LimitRanges[at]
	is := was.DeepCopy()
	var says []string
	for _, a := range denial.Amounts {
		asked, err := resource.ParseQuantity(a.Asked)
		if err != nil {
			return nil
		}
		for i := range is.Spec.Limits {
			item := &is.Spec.Limits[i]
			bounds := map[string]v1.ResourceList{"minimum": item.Min, "maximum": item.Max, "maxLimitRequestRatio": item.MaxLimitRequestRatio, "default": item.Default}[a.Bound]
			if now, given := bounds[a.Resource]; given && item.Type == a.Of {
				bounds[a.Resource] = asked
				says = append(says, fmt.Sprintf("the %s of %s for a %s to %s (now %s)", a.Bound, a.Resource, a.Of, a.Asked, now.String()))
			}
		}
	}
	patch, err := patchBetween(was, is)
	if err != nil || patch == nil || len(says) == 0 {
		return nil
	}
	return []attempt{d.attemptOne(candidate{change: "set in " + denial.Object + " " + words.And(says), price: []string{"holds for all new pods of the namespace"},
		steps: []scenario.Step{{Patch: patch}}})}
}

// restrict gives the pods what the profile restricted of the Pod Security Standards asks for.
func (d *deniedWorkload) restrict() attempt {
	return d.attemptOne(candidate{change: "set runAsNonRoot, seccompProfile RuntimeDefault, allowPrivilegeEscalation false and capabilities drop ALL in its pods",
		price: []string{"its images have to run as another user than root"}, edit: func(spec *v1.PodSpec) {
			if spec.SecurityContext == nil {
				spec.SecurityContext = &v1.PodSecurityContext{}
			}
			spec.SecurityContext.RunAsNonRoot = ptr.To(true)
			spec.SecurityContext.SeccompProfile = &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}
			for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
				for i := range containers {
					if containers[i].SecurityContext == nil {
						containers[i].SecurityContext = &v1.SecurityContext{}
					}
					of := containers[i].SecurityContext
					of.AllowPrivilegeEscalation = ptr.To(false)
					of.Capabilities = &v1.Capabilities{Drop: []v1.Capability{"ALL"}}
				}
			}
		}})
}

// relabel lets the namespace admit less careful pods: the strictest profile that helps.
func (d *deniedWorkload) relabel() []attempt {
	var all []candidate
	for _, level := range []api.Level{api.LevelBaseline, api.LevelPrivileged} {
		labels := map[string]string{api.EnforceLevelLabel: string(level)}
		all = append(all, candidate{change: fmt.Sprintf("label namespace %s with %s", d.owner.Namespace, words.And(pairsOf(labels))),
			price: []string{"holds for all new pods of the namespace"}, steps: []scenario.Step{labelStep("namespace/"+d.owner.Namespace, labels)}})
	}
	return d.attemptFirst(all)
}
