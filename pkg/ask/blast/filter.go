package blast

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Filter selects the workloads that match all of its parts. It does not change what fails.
type Filter struct {
	// Workloads are names of workloads, as kind/name or namespace/kind/name.
	Workloads []string `json:"workloads,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	// Selector is a label selector that matches one of the workload's pods.
	Selector string `json:"selector,omitempty"`
	// MinReplicas is the smallest number of running pods.
	MinReplicas int `json:"minReplicas,omitempty" jsonschema:"minimum=2"`
}

// Empty reports whether the filter selects all workloads.
func (f Filter) Empty() bool {
	return len(f.Workloads) == 0 && f.Namespace == "" && f.Selector == "" && f.MinReplicas <= 1
}

// reports tells whether the report has the workload.
func (o Options) reports(workload cluster.Ref) bool { return o.Only == nil || o.Only[workload] }

// Select returns the workloads of the state that the filter selects; nil, which means all, if the filter is empty. The error lists every
// part of the filter that matches no workload, and what exists instead. Pods of DaemonSets and bare pods are selected by the same rules,
// but do not count as a match, since no failure takes a share of them.
func (f Filter) Select(state *cluster.State) (map[cluster.Ref]bool, error) {
	if f.Empty() {
		return nil, nil
	}
	pods, owner, nodes := map[cluster.Ref][]*v1.Pod{}, state.Owners(), state.NodesByName()
	for _, pod := range state.Pods {
		if node := nodes[pod.Spec.NodeName]; node != nil && cluster.KubeletResponds(node) && cluster.IsActive(pod) {
			pods[owner(pod)] = append(pods[owner(pod)], pod)
		}
	}
	var workloads []cluster.Ref
	for o := range pods {
		if !belongsToNode(o) {
			workloads = append(workloads, o)
		}
	}
	slices.SortFunc(workloads, cluster.Ref.Compare)
	named, problems := f.namedWorkloads(workloads)
	selector, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector %s: %w", f.Selector, err)
	}
	labelled := func(o cluster.Ref) bool {
		return slices.ContainsFunc(pods[o], func(pod *v1.Pod) bool { return selector.Matches(labels.Set(pod.Labels)) })
	}
	for _, part := range []struct {
		what  string
		given bool
		holds func(cluster.Ref) bool
		there func() string
	}{
		{"namespace " + f.Namespace, f.Namespace != "", f.inNamespace, func() string {
			return scenario.ListChoices(f.Namespace, namespaces(workloads))
		}},
		{"selector " + f.Selector, f.Selector != "", labelled, func() string {
			return scenario.ListChoices(f.Selector, labelsOf(workloads, pods))
		}},
		{fmt.Sprintf("at least %d replicas", f.MinReplicas), f.MinReplicas > 1, func(o cluster.Ref) bool { return len(pods[o]) >= f.MinReplicas }, func() string {
			return fmt.Sprintf("the largest has %d", maxPods(workloads, pods))
		}},
	} {
		if part.given && !slices.ContainsFunc(workloads, part.holds) {
			problems = append(problems, fmt.Errorf("%s: no workload matches; %s", part.what, part.there()))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	only := map[cluster.Ref]bool{}
	for o := range pods {
		if (len(f.Workloads) == 0 || named[o]) && f.inNamespace(o) && labelled(o) && len(pods[o]) >= f.MinReplicas {
			only[o] = true
		}
	}
	if !slices.ContainsFunc(workloads, func(o cluster.Ref) bool { return only[o] }) {
		return nil, errors.New("filters: each matches a workload, but no workload matches all of them; leave one out")
	}
	return only, nil
}

func (f Filter) inNamespace(o cluster.Ref) bool {
	return f.Namespace == "" || o.Namespace == f.Namespace
}

// namedWorkloads returns the workloads that the filter names.
func (f Filter) namedWorkloads(workloads []cluster.Ref) (map[cluster.Ref]bool, []error) {
	named := map[cluster.Ref]bool{}
	var problems []error
	for _, target := range f.Workloads {
		as := func(o cluster.Ref) bool { return target == o.String() || target == fullName(o) }
		if i := slices.IndexFunc(workloads, as); i >= 0 && !slices.ContainsFunc(workloads[i+1:], as) { // of any kind, known or not
			named[workloads[i]] = true
			continue
		}
		wanted, err := scenario.ParseWorkload(target)
		if err != nil {
			problems = append(problems, fmt.Errorf("workload %w", err))
			continue
		}
		found := false
		for _, o := range workloads {
			if scenario.MatchesName(o, wanted) {
				named[o], found = true, true
			}
		}
		if !found {
			names := list.Map(workloads, cluster.Ref.Qualified)
			problems = append(problems, fmt.Errorf("workload %q: no workload of this name has a running pod; %s", target, scenario.ListChoices(target, names)))
		}
	}
	return named, problems
}

func namespaces(workloads []cluster.Ref) []string {
	found := list.KeySet(workloads, func(o cluster.Ref) string { return o.Namespace })
	return slices.Sorted(maps.Keys(found))
}

// labelsOf returns the labels of the workloads' pods, as key=value, without the labels that controllers give each pod.
func labelsOf(workloads []cluster.Ref, pods map[cluster.Ref][]*v1.Pod) []string {
	found := map[string]bool{}
	for _, o := range workloads {
		for key, value := range pods[o][0].Labels {
			switch key {
			case appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel:
			default:
				found[key+"="+value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func maxPods(workloads []cluster.Ref, pods map[cluster.Ref][]*v1.Pod) int {
	most := 0
	for _, o := range workloads {
		most = max(most, len(pods[o]))
	}
	return most
}
