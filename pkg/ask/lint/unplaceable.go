package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// nodePlugins are the plugins whose refusal depends on the pod and the node alone.
var nodePlugins = []string{"NodeAffinity", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration"}

// findUnplaceable returns why every node refuses a pod of the subject, even if no other pod runs: for its rules, its tolerations or its
// requests. It returns none if the subject has a pod on a node, wants no pod, or is refused for something else.
func (l *inspection) findUnplaceable(s *subject) ([]cause.Cause, error) {
	if causes, known := l.unplaceable[s]; known {
		return causes, nil
	}
	causes, err := l.causesOnEmptyNodes(s)
	if err == nil {
		l.unplaceable[s] = causes
	}
	return causes, err
}

func (l *inspection) causesOnEmptyNodes(s *subject) ([]cause.Cause, error) {
	pods, replicas := s.pods(), cluster.ReplicasOf(s.object)
	job, isJob := s.object.(*batchv1.Job)
	switch {
	case len(l.nodes) == 0, slices.ContainsFunc(pods, func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }):
		return nil, nil
	case replicas != nil && s.replicas == 0, isJob && jobutil.IsJobFinished(job), s.pod.Spec.NodeName != "":
		return nil, nil
	case len(pods) == 0 && l.result.Scenario.Autoscaler != nil: // a new node may take them
		return nil, nil
	}
	pod, err := s.lonePod()
	if err != nil {
		return nil, nil // pods-refused reports it
	}
	causes, err := l.refusalsByEmptyNodes(s, pod)
	if err != nil || slices.ContainsFunc(causes, func(c cause.Cause) bool { return !slices.Contains(nodePlugins, c.Plugin) }) {
		return nil, err
	}
	if i := slices.IndexFunc(causes, func(c cause.Cause) bool { return len(c.Taints) > 0 }); i >= 0 && len(cause.FindUnmet(causes)) == 0 {
		// Taints are compared first. A node selector that no node meets is the better reason, since no toleration helps then.
		tolerant := pod.DeepCopy()
		tolerant.Spec.Tolerations = append(tolerant.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
		others, err := l.refusalsByEmptyNodes(s, tolerant)
		if err != nil {
			return nil, err
		}
		if len(cause.FindUnmet(others)) > 0 {
			causes = others
		}
	}
	return causes, nil
}

// refusalsByEmptyNodes returns why the scheduler refuses the pod if it is the only pod; none if a node takes it.
func (l *inspection) refusalsByEmptyNodes(s *subject, pod *v1.Pod) ([]cause.Cause, error) {
	empty := l.emptied[s.step]
	if empty == nil {
		pods := list.Map(s.step.State.Pods, func(pod *v1.Pod) cluster.Object { return pod })
		nodes := list.Map(l.nodes, func(node *v1.Node) cluster.Object { return node })
		empty = s.step.State.Without(pods...).With(nodes...)
		l.emptied[s.step] = empty
	}
	finder, err := l.causeFinder()
	if err != nil {
		return nil, err
	}
	causes, err := finder.Causes(l.ctx, empty, pod)
	return list.Without(causes, func(c cause.Cause) bool { return c.Preemption != nil }), err
}

// noNodeTakesPods finds workloads whose node selector, node affinity or missing tolerations exclude every node.
func noNodeTakesPods(l *inspection, s *subject) ([]Finding, error) {
	causes, err := l.findUnplaceable(s)
	if err != nil || len(causes) == 0 || slices.ContainsFunc(causes, func(c cause.Cause) bool { return c.Resource != nil }) || len(admissionPolicyUnmet(l, s)) > 0 {
		return nil, err
	}
	f := s.unplaceableFinding(causes)
	if all := cause.FindUnmet(causes); len(all) > 0 {
		unmet := &all[0]
		f.Field = s.requirementField(unmet)
		fix, err := l.unmetFix(s, unmet)
		if err != nil {
			return nil, err
		}
		has := ""
		if len(unmet.Values) > 0 {
			has = fmt.Sprintf(" (the values there are: %s)", words.Few(unmet.Values))
		}
		f.Message, f.Fix = fmt.Sprintf("the pods want %s, and no node has it%s: %s", unmet.Requirement, has, f.Message), fix
		return []Finding{f}, nil
	}
	sentences := list.Map(causes, func(c cause.Cause) string { return c.Sentence })
	f.Message = fmt.Sprintf("no node takes the pods (%s): %s", strings.Join(sentences, "; "), f.Message)
	f.Fix, err = l.admittingFix(s, causes)
	return []Finding{f}, err
}

// admittingFix returns the changes of which each alone lets a node take the pods, or all changes together if none does.
func (l *inspection) admittingFix(s *subject, causes []cause.Cause) (string, error) {
	var all, helpful []string
	for _, c := range causes {
		var says string
		var edit func(*v1.PodSpec)
		switch {
		case c.NodeAffinity != nil:
			says, edit = "let the node selector and the node affinity admit more nodes", func(spec *v1.PodSpec) {
				spec.NodeSelector = nil
				if spec.Affinity != nil {
					spec.Affinity.NodeAffinity = nil
				}
			}
		case len(c.Cordoned) > 0:
			says, edit = "uncordon a node that can take them", func(spec *v1.PodSpec) {
				spec.Tolerations = append(spec.Tolerations, v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists})
			}
		default:
			says, edit = "tolerate "+words.Or(list.Map(c.Taints, func(t cause.Taint) string { return t.Taint })), func(spec *v1.PodSpec) {
				spec.Tolerations = append(spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
			}
		}
		all = append(all, says)
		if fits, err := l.fitsEmptyNode(s, edit); err != nil {
			return "", err
		} else if fits {
			helpful = append(helpful, says)
		}
	}
	if len(helpful) > 0 {
		return strings.Join(helpful, ", or "), nil
	}
	return strings.Join(all, ", and "), nil
}

// fitsEmptyNode reports whether some node takes a pod of the subject with the edited spec, if no other pod runs.
func (l *inspection) fitsEmptyNode(s *subject, edit func(*v1.PodSpec)) (bool, error) {
	pod, err := s.lonePod()
	if err != nil {
		return false, err
	}
	edit(&pod.Spec)
	causes, err := l.refusalsByEmptyNodes(s, pod)
	return len(causes) == 0, err
}

// lonePod returns a pod of the subject as the API server would create it, with a name.
func (s *subject) lonePod() (*v1.Pod, error) {
	pod, err := s.createdPod()
	pod.Name, pod.UID = cmp.Or(pod.Name, s.owner.Name), types.UID("lint-"+s.owner.Name)
	return pod, err
}

// requestAboveNodes finds workloads whose pods request more than any node has that their rules admit.
func requestAboveNodes(l *inspection, s *subject) ([]Finding, error) {
	causes, err := l.findUnplaceable(s)
	short := list.Where(causes, func(c cause.Cause) bool { return c.Resource != nil })
	if err != nil || len(short) == 0 || len(cause.FindUnmet(causes)) > 0 {
		return nil, err
	}
	f := s.unplaceableFinding(causes)
	f.Field = s.field("containers")
	asks := list.Map(short, func(c cause.Cause) string {
		most := "no more than " + c.Resource.Allocatable
		if c.Resource.Allocatable == "0" {
			most = "none"
		}
		return fmt.Sprintf("%s %s, and %s %s", c.Resource.Asked, c.Resource.Resource, words.Has(c.Nodes, "node"), most)
	})
	others := ""
	for _, c := range causes {
		if c.Resource == nil {
			others += "; " + cause.Brief([]cause.Cause{c})
		}
	}
	f.Message = fmt.Sprintf("a pod requests %s%s: %s", strings.Join(asks, "; "), others, f.Message)
	f.Fix = "request less, or add a node that has as much"
	if len(short) == 1 {
		f.Fix = fmt.Sprintf("request at most %s %s, or add a node that has as much", short[0].Resource.Allocatable, short[0].Resource.Resource)
		if short[0].Resource.Allocatable == "0" {
			f.Fix = fmt.Sprintf("add a node that has %s", short[0].Resource.Resource)
			if taints := l.taintsOf(short[0].Resource.Resource); len(taints) > 0 {
				f.Fix = fmt.Sprintf("tolerate %s, the %s of the nodes that have %s", words.Or(taints), words.Pick(len(taints), "taint", "taints"), short[0].Resource.Resource)
			}
		}
	}
	return []Finding{f}, nil
}

// taintsOf returns the taints of the nodes that have some of the resource, as kubectl writes them.
func (l *inspection) taintsOf(name v1.ResourceName) []string {
	var taints []string
	for _, node := range l.nodes {
		for i := range node.Spec.Taints {
			if amount := node.Status.Allocatable[name]; !amount.IsZero() && !strings.HasPrefix(node.Spec.Taints[i].Key, "node.kubernetes.io/") {
				taints = append(taints, node.Spec.Taints[i].ToString())
			}
		}
	}
	return list.Distinct(taints)
}

// unplaceableFinding returns a finding on pods that no node takes for these causes. Its message says what follows.
func (s *subject) unplaceableFinding(causes []cause.Cause) Finding {
	f := Finding{Field: s.path}
	switch n := len(s.pods()); {
	case s.owner.Kind == "StatefulSet" && n > 0 && n < s.replicas: // it makes one pod after the other
		f.Message = fmt.Sprintf("the first of %d pods stays Pending, and the others wait for it", s.replicas)
	case n == 1:
		f.Message = "the pod stays Pending"
	case n > 1:
		f.Message = fmt.Sprintf("none of the %d pods gets a node", n)
	case s.owner.Kind == "DaemonSet":
		f.Severity, f.Message = Note, "the DaemonSet runs nowhere"
	default:
		f.Message = "its pods will stay Pending"
		if !s.makesPods() {
			f.Severity = Warning
		}
	}
	f.Brief = f.Message + ", " + cause.Brief(causes)
	return f
}

// makesPods reports whether the subject is to make pods, now or at its next time.
func (s *subject) makesPods() bool {
	switch o := s.object.(type) {
	case *batchv1.Job:
		return !ptr.Deref(o.Spec.Suspend, false)
	case *batchv1.CronJob:
		return !ptr.Deref(o.Spec.Suspend, false)
	}
	return true
}

// requirementField returns the path in the object of a requirement on nodes.
func (s *subject) requirementField(unmet *cause.Unmet) string {
	key, _, _ := strings.Cut(unmet.Requirement, "=")
	if _, selected := s.pod.Spec.NodeSelector[key]; selected {
		return s.field("nodeSelector")
	}
	if s.pod.Spec.Affinity != nil && s.pod.Spec.Affinity.NodeAffinity != nil {
		return s.field("affinity.nodeAffinity")
	}
	return s.path
}

// unmetFix returns the fix of a requirement that no node meets: a value of the label with which a node takes the pods, if there is one.
func (l *inspection) unmetFix(s *subject, unmet *cause.Unmet) (string, error) {
	key, value, single := strings.Cut(unmet.Requirement, "=")
	label := "label nodes so that they meet " + unmet.Requirement
	if !single || strings.HasSuffix(key, "!") {
		return label + ", or change the requirement", nil
	}
	var helpful []string
	for _, other := range unmet.Values {
		if fits, err := l.fitsEmptyNode(s, func(spec *v1.PodSpec) { replaceRequirement(spec, key, value, other) }); err != nil {
			return "", err
		} else if fits {
			helpful = append(helpful, key+"="+other)
		}
	}
	label = "label nodes that can take the pods with " + unmet.Requirement
	if key == v1.LabelArchStable || key == v1.LabelOSStable { // a kubelet sets these
		label = "add nodes with " + unmet.Requirement
		helpful = list.Map(helpful, func(pair string) string { return pair + ", if its images run there" })
	}
	if len(helpful) > 0 {
		return fmt.Sprintf("ask for %s, or %s", words.Or(helpful), label), nil
	}
	pod, err := s.lonePod()
	if err != nil {
		return "", err
	}
	replaceRequirement(&pod.Spec, key, value, "")
	without, err := l.refusalsByEmptyNodes(s, pod)
	if err != nil || len(without) == 0 {
		return label + ", or remove the requirement", err
	}
	if i := slices.IndexFunc(without, func(c cause.Cause) bool { return len(c.Taints) > 0 }); i >= 0 {
		label += ", and tolerate " + words.Or(list.Map(without[i].Taints, func(t cause.Taint) string { return t.Taint }))
	}
	return label, nil
}

// replaceRequirement replaces the value of a label in the node selector and in the required node affinity, in place. It removes the requirement
// if the other value is "".
func replaceRequirement(spec *v1.PodSpec, key, value, other string) {
	if spec.NodeSelector[key] == value {
		if spec.NodeSelector[key] = other; other == "" {
			delete(spec.NodeSelector, key)
		}
	}
	for _, term := range cluster.RequiredTerms(spec) {
		for i := range term.MatchExpressions {
			if e := &term.MatchExpressions[i]; e.Key == key && e.Operator == v1.NodeSelectorOpIn && slices.Equal(e.Values, []string{value}) {
				if e.Values = []string{other}; other == "" {
					e.Operator, e.Values = v1.NodeSelectorOpNotIn, []string{"-"} // as good as none
				}
			}
		}
	}
}
