package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Denial is the object because of which the API server rejects a pod, and what the object allows.
type Denial struct {
	// Object is the object as kind namespace/name, such as "ResourceQuota team/compute".
	Object string `json:"object"`
	// Binding is the ValidatingAdmissionPolicyBinding that applies the policy.
	Binding string `json:"binding,omitempty"`
	// Amounts are the resources of which the pod asks for more, or less, than a ResourceQuota or a LimitRange allows.
	Amounts []Amount `json:"amounts,omitempty"`
	// Says is the message of a policy, of Pod Security, or of a quota that requires a request.
	Says string `json:"says,omitempty"`
}

// Amount is how much of a resource is asked for, and how much is allowed, as quantities of a manifest.
type Amount struct {
	Resource v1.ResourceName `json:"resource"`
	// Asked is what the pod asks for: a request, a limit, or the ratio of both; missing if it asks for nothing.
	Asked string `json:"asked,omitempty"`
	// Used is the part of a ResourceQuota's Hard that is used.
	Used string `json:"used,omitempty"`
	Hard string `json:"hard,omitempty"`
	// Bound is the kind of bound that a LimitRange sets: minimum, maximum, default or maxLimitRequestRatio. Of is the type that it applies
	// to: Container, Pod or PersistentVolumeClaim.
	Bound string       `json:"bound,omitempty"`
	Of    v1.LimitType `json:"of,omitempty"`
	// Value is the value of the bound, and Field says what violates it: request, limit or ratio.
	Value string `json:"value,omitempty"`
	Field string `json:"field,omitempty"`
}

// ExplainDenial returns the object of the state because of which the API server rejects a request, with the values of both sides. It reads the
// values from the API server's message, so they are those of the failed attempt. It returns none if no such object is the reason, for
// example if a class does not exist.
func ExplainDenial(state *cluster.State, r cluster.Refusal) []Cause {
	in := refusal{Refusal: r, state: state}
	of := ""
	if found := memberPattern.FindStringSubmatch(r.Message); found != nil && state.Federation != nil && state.Federation.Member(found[1]) != nil {
		in.Message, in.state, of = strings.TrimSuffix(r.Message, found[0]), state.Federation.Member(found[1]).State, found[0]
	}
	for _, read := range []func(refusal) *Cause{refusal.exceededQuota, refusal.failedQuota, refusal.limitRange, refusal.defaultLimit, refusal.podSecurity, refusal.policy, refusal.missingObject} {
		if c := read(in); c != nil {
			c.Sentence += of
			return []Cause{*c}
		}
	}
	return nil
}

// memberPattern matches what a federation adds to a member's message.
var memberPattern = regexp.MustCompile(`, in cluster (\S+)$`)

// refusal is a refusal by the API server, with the state that has the refusing objects.
type refusal struct {
	cluster.Refusal
	state *cluster.State
}

// The words of https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
var (
	quotaExceededPattern = regexp.MustCompile(`exceeded quota: ([^,\s]+), requested: (\S+), used: (\S+), limited: (\S+)`)
	quotaFailedPattern   = regexp.MustCompile(`failed quota: ([^:\s]+): (.+)`)
)

// exceededQuota returns, for example, "ResourceQuota team/compute: requests.cpu 8 of 8 used, the pod asks 500m".
func (r refusal) exceededQuota() *Cause {
	found := quotaExceededPattern.FindStringSubmatch(r.Message)
	if found == nil {
		return nil
	}
	d := Denial{Object: "ResourceQuota " + r.Namespace + "/" + found[1]}
	asked, used, hard := parseAmounts(found[2]), parseAmounts(found[3]), parseAmounts(found[4])
	var parts []string
	for i, a := range asked {
		amount := Amount{Resource: v1.ResourceName(a[0]), Asked: a[1]}
		if i < len(used) && i < len(hard) { // the API server sorts all lists by name, and they have the same names
			amount.Used, amount.Hard = used[i][1], hard[i][1]
		}
		d.Amounts = append(d.Amounts, amount)
		parts = append(parts, fmt.Sprintf("%s %s of %s used, %s asks %s", amount.Resource, amount.Used, amount.Hard, r.requestedObject(), amount.Asked))
	}
	return &Cause{Plugin: "ResourceQuota", Sentence: d.Object + ": " + strings.Join(parts, "; "), Denial: &d}
}

// parseAmounts reads "pods=1,requests.cpu=500m".
func parseAmounts(text string) [][2]string {
	return list.Map(strings.Split(text, ","), func(part string) [2]string {
		name, value, _ := strings.Cut(part, "=")
		return [2]string{name, value}
	})
}

// failedQuota returns, for example, "ResourceQuota team/compute: the pod must specify requests.cpu for: web".
func (r refusal) failedQuota() *Cause {
	found := quotaFailedPattern.FindStringSubmatch(r.Message)
	if found == nil {
		return nil
	}
	d := Denial{Object: "ResourceQuota " + r.Namespace + "/" + found[1], Says: found[2]}
	return &Cause{Plugin: "ResourceQuota", Sentence: fmt.Sprintf("%s: %s %s", d.Object, r.requestedObject(), d.Says), Denial: &d}
}

// requestedObject returns a noun for the object that the rejected request would create, such as "the pod".
func (r refusal) requestedObject() string {
	found := objectPattern.FindStringSubmatch(r.Message)
	switch {
	case found == nil:
		return "the object"
	case found[1] == "pods" || found[1] == "Pod":
		return "the pod"
	case found[1] == "persistentvolumeclaims" || found[1] == "PersistentVolumeClaim":
		return "the claim"
	}
	kind, _, _ := strings.Cut(found[1], ".")
	return "the " + strings.TrimSuffix(strings.ToLower(kind), "s")
}

var objectPattern = regexp.MustCompile(`(\S+) "[^"]*" is (?:forbidden|invalid)`)

// The words of https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/limitranger/admission.go.
var (
	boundPattern        = regexp.MustCompile(`(minimum|maximum) (\S+) usage per (\w+) is ([\d.]+\w*)(?:, but (request|limit) is ([\d.]+\w*)|\.  No (request|limit) is specified)`)
	ratioPattern        = regexp.MustCompile(`(\S+) max limit to request ratio per (\w+) is ([\d.]+\w*), but (?:provided ratio is ([\d.]+)|no (request|limit) is)`)
	defaultLimitPattern = regexp.MustCompile(`spec\.(\w+)\[(\d+)\]\.resources\.requests: Invalid value: "([^"]+)": must be less than or equal to (\S+) limit of ([\d.]+\w*)`)
)

// limitRange returns, for example, "LimitRange team/limits: a Container has at most 500m cpu, and one here has a request of 1".
func (r refusal) limitRange() *Cause {
	var all []Amount
	var parts []string
	for _, found := range boundPattern.FindAllStringSubmatch(r.Message, -1) {
		a := Amount{Bound: found[1], Resource: v1.ResourceName(found[2]), Of: v1.LimitType(found[3]), Value: found[4], Field: found[5] + found[7], Asked: found[6]}
		all = append(all, a)
		least := map[string]string{"minimum": "least", "maximum": "most"}[a.Bound]
		parts = append(parts, fmt.Sprintf("a %s has at %s %s %s, and %s", a.Of, least, a.Value, a.Resource, a.violationText()))
	}
	for _, found := range ratioPattern.FindAllStringSubmatch(r.Message, -1) {
		a := Amount{Bound: "maxLimitRequestRatio", Resource: v1.ResourceName(strings.TrimPrefix(found[1], "[")), Of: v1.LimitType(found[2]), Value: found[3], Field: found[5], Asked: found[4]}
		if a.Field == "" {
			a.Field, a.Asked = "ratio", strings.TrimSuffix(strings.TrimRight(a.Asked, "0"), ".")
		}
		all = append(all, a)
		parts = append(parts, fmt.Sprintf("the limit of a %s is at most %s times its request of %s, and %s", a.Of, a.Value, a.Resource, a.violationText()))
	}
	if len(all) == 0 {
		return nil
	}
	d := Denial{Object: r.findLimitRange(all[0]), Amounts: all}
	return &Cause{Plugin: "LimitRanger", Sentence: d.Object + ": " + strings.Join(parts, "; "), Denial: &d}
}

// violationText returns, for example, "one here has a request of 1", or "one here gives no request".
func (a Amount) violationText() string {
	if a.Asked == "" {
		return "one here gives no " + a.Field
	}
	return fmt.Sprintf("one here has a %s of %s", a.Field, a.Asked)
}

// findLimitRange returns the LimitRange of the namespace that sets the bound, as "LimitRange namespace/name"; "" if none does.
func (r refusal) findLimitRange(a Amount) string {
	for _, limits := range r.state.LimitRanges {
		if limits.Namespace != r.Namespace {
			continue
		}
		for _, item := range limits.Spec.Limits {
			of := map[string]v1.ResourceList{"minimum": item.Min, "maximum": item.Max, "maxLimitRequestRatio": item.MaxLimitRequestRatio, "default": item.Default}[a.Bound]
			if set, given := of[a.Resource]; given && item.Type == a.Of && sameQuantity(set, a.Value) {
				return "LimitRange " + limits.Namespace + "/" + limits.Name
			}
		}
	}
	return ""
}

func sameQuantity(set resource.Quantity, text string) bool {
	value, err := resource.ParseQuantity(text)
	return err == nil && set.Cmp(value) == 0
}

// defaultLimit explains a container that requests more than the default limit which a LimitRange gives it: "LimitRange team/limits: gives
// container web, which sets none, a limit of 500m cpu, less than its request of 700m".
func (r refusal) defaultLimit() *Cause {
	found := defaultLimitPattern.FindStringSubmatch(r.Message)
	if found == nil {
		return nil
	}
	a := Amount{Bound: "default", Resource: v1.ResourceName(found[4]), Of: v1.LimitTypeContainer, Value: found[5], Field: "request", Asked: found[3]}
	object, container := r.findLimitRange(a), r.findContainer(found[1], found[2])
	if object == "" || container == nil {
		return nil
	}
	if _, given := container.Resources.Limits[a.Resource]; given {
		return nil
	}
	return &Cause{Plugin: "LimitRanger", Denial: &Denial{Object: object, Amounts: []Amount{a}},
		Sentence: fmt.Sprintf("%s: gives container %s, which sets none, a limit of %s %s, less than its request of %s", object, container.Name, a.Value, a.Resource, a.Asked)}
}

// findContainer returns a container of the refused workload's template, by its list and index; nil if the workload does not exist.
func (r refusal) findContainer(of, index string) *v1.Container {
	obj := r.state.Find(r.Ref)
	if obj == nil {
		return nil
	}
	spec, _ := cluster.PodSpec(obj)
	if spec == nil {
		return nil
	}
	containers := spec.Containers
	if of == "initContainers" {
		containers = spec.InitContainers
	}
	for i := range containers {
		if fmt.Sprint(i) == index {
			return &containers[i]
		}
	}
	return nil
}

// missingPatterns match the words about an object that the pod names and that does not exist, by the plugin that looks for it. See
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/plugin/pkg/admission.
var missingPatterns = []struct {
	plugin, kind string
	pattern      *regexp.Regexp
}{
	{"Priority", "PriorityClass", regexp.MustCompile(`no PriorityClass with name (\S+) was found`)},
	{"ServiceAccount", "ServiceAccount", regexp.MustCompile(`error looking up service account (\S+): serviceaccount "[^"]*" not found`)},
	{"RuntimeClass", "RuntimeClass", regexp.MustCompile(`RuntimeClass "([^"]+)" not found`)},
}

// missingObject returns, for example, "PriorityClass vital does not exist; there are batch and high".
func (r refusal) missingObject() *Cause {
	for _, missing := range missingPatterns {
		found := missing.pattern.FindStringSubmatch(r.Message)
		if found == nil {
			continue
		}
		d := Denial{Object: missing.kind + " " + found[1]}
		sentence := d.Object + " does not exist"
		if names := r.namesOf(missing.kind); len(names) > 0 {
			sentence += fmt.Sprintf("; there %s %s", words.Pick(len(names), "is", "are"), words.Few(names))
		}
		return &Cause{Plugin: missing.plugin, Sentence: sentence, Denial: &d}
	}
	return nil
}

// namesOf returns the names of the classes that exist, sorted, or of the namespace's accounts.
func (r refusal) namesOf(kind string) []string {
	var names []string
	switch kind {
	case "PriorityClass":
		names = list.Map(r.state.PriorityClasses, func(c *schedulingv1.PriorityClass) string { return c.Name })
	case "RuntimeClass":
		names = list.Map(r.state.RuntimeClasses, func(c *nodev1.RuntimeClass) string { return c.Name })
	case "ServiceAccount":
		own := list.Where(r.state.ServiceAccounts, func(a *v1.ServiceAccount) bool { return a.Namespace == r.Namespace })
		names = list.Map(own, func(a *v1.ServiceAccount) string { return a.Name })
	}
	slices.Sort(names)
	return names
}

// podSecurityPattern matches the words of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/pod-security-admission/admission/admission.go.
var podSecurityPattern = regexp.MustCompile(`(?s)violates PodSecurity "([^":]+):([^"]+)": (.*)`)

// podSecurity returns, for example, "Namespace team: its label pod-security.kubernetes.io/enforce=restricted forbids this". The message has
// the violations.
func (r refusal) podSecurity() *Cause {
	found := podSecurityPattern.FindStringSubmatch(r.Message)
	if found == nil {
		return nil
	}
	d := Denial{Object: "Namespace " + r.Namespace, Says: found[3]}
	sentence := fmt.Sprintf("%s: its label %s=%s forbids this", d.Object, api.EnforceLevelLabel, found[1])
	i := slices.IndexFunc(r.state.Namespaces, func(ns *v1.Namespace) bool { return ns.Name == r.Namespace })
	if i >= 0 {
		if now := r.state.Namespaces[i].Labels[api.EnforceLevelLabel]; now != found[1] { // the controller has not asked since
			sentence = fmt.Sprintf("%s: its label %s=%s forbade this at the last attempt; now it is %q", d.Object, api.EnforceLevelLabel, found[1], now)
		}
	}
	return &Cause{Plugin: "PodSecurity", Sentence: sentence, Denial: &d}
}

// bindingPattern matches the name of the binding in the message of a ValidatingAdmissionPolicy.
var bindingPattern = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']+' with binding '([^']+)'`)

// policy returns, for example, "ValidatingAdmissionPolicy ceiling, by its binding team: no more than 40 replicas".
func (r refusal) policy() *Cause {
	name, says := r.Denial()
	if name == "" {
		return nil
	}
	d := Denial{Object: "ValidatingAdmissionPolicy " + name, Says: says}
	sentence := d.Object
	if found := bindingPattern.FindStringSubmatch(r.Message); found != nil {
		d.Binding = found[1]
		sentence += ", by its binding " + d.Binding
	}
	return &Cause{Plugin: "ValidatingAdmissionPolicy", Sentence: sentence + ": " + says, Denial: &d}
}
