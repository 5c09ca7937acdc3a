package capacity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// scalableKinds are the kinds with replicas that a target can name. Unknown owners have replicas, too.
var scalableKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}

// Workloads returns the workloads of the state that have replicas, in the state's order.
func Workloads(state *cluster.State) []cluster.Ref {
	var all []cluster.Ref
	for _, obj := range state.Scalable() {
		all = append(all, cluster.RefTo(obj))
	}
	return all
}

// scaledFor returns a function that finds the workload, among [Workloads], to which a pod belongs.
func scaledFor(state *cluster.State) func(*v1.Pod) cluster.Ref {
	owner, known := state.Owners(), map[cluster.Ref]bool{}
	for _, ref := range Workloads(state) {
		known[ref] = true
	}
	return func(pod *v1.Pod) cluster.Ref {
		if by := metav1.GetControllerOfNoCopy(pod); by != nil {
			if ref := (cluster.Ref{Kind: by.Kind, Namespace: pod.Namespace, Name: by.Name}); known[ref] {
				return ref
			}
		}
		return owner(pod)
	}
}

// Mixes parses workloads, each as kind/name or namespace/kind/name, and mixes of them, such as deployment/web=2,deployment/api=1. Without
// any, it returns each workload of the state as a mix of its own. The error lists all unknown workloads, and those that cannot be scaled.
func Mixes(state *cluster.State, workloads, mixes []string) ([][]Share, error) {
	known := Workloads(state)
	var asked [][]Share
	var problems []error
	for _, name := range workloads {
		owner, err := resolveWorkload(state, known, name)
		problems = append(problems, err)
		asked = append(asked, []Share{{Ref: owner, Proportion: 1}})
	}
	for _, mix := range mixes {
		shares, err := parseMix(state, known, mix)
		problems = append(problems, err)
		asked = append(asked, shares)
	}
	if len(asked) == 0 {
		if len(known) == 0 {
			return nil, errors.New("the cluster has no Deployment, ReplicaSet, StatefulSet or ReplicationController to add replicas to; give one")
		}
		for _, owner := range known {
			asked = append(asked, []Share{{Ref: owner, Proportion: 1}})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return asked, nil
}

func parseMix(state *cluster.State, known []cluster.Ref, mix string) ([]Share, error) {
	var shares []Share
	var problems []error
	for part := range strings.SplitSeq(mix, ",") {
		name, number, given := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" {
			problems = append(problems, fmt.Errorf("mix %q: %q names no workload; give WORKLOAD=PROPORTION, such as deployment/web=2", mix, part))
			continue
		}
		proportion := 1
		if given {
			var err error
			if proportion, err = strconv.Atoi(number); err != nil || proportion < 1 || proportion > 10_000 {
				problems = append(problems, fmt.Errorf("mix %q: the proportion %q of %s is not a whole number from 1 to 10000", mix, number, name))
			}
		}
		owner, err := resolveWorkload(state, known, name)
		if err == nil && slices.ContainsFunc(shares, func(s Share) bool { return s.Ref == owner }) {
			err = fmt.Errorf("mix %q: %s is given twice", mix, name)
		}
		problems = append(problems, err)
		shares = append(shares, Share{Ref: owner, Proportion: proportion})
	}
	return shares, errors.Join(problems...)
}

// resolveWorkload returns the workload with that name, as kind/name or namespace/kind/name.
func resolveWorkload(state *cluster.State, known []cluster.Ref, name string) (cluster.Ref, error) {
	target, namespace := name, ""
	if strings.Count(name, "/") == 2 {
		namespace, target, _ = strings.Cut(name, "/")
	}
	kind, short, err := scenario.ParseTarget(target)
	if word, rest, _ := strings.Cut(target, "/"); err != nil {
		i := slices.IndexFunc(known, func(of cluster.Ref) bool { return strings.EqualFold(of.Kind, word) })
		if i < 0 {
			if made, is := findMadeBy(state, word, namespace, rest); is {
				return made, nil
			}
			return cluster.Ref{}, err
		}
		kind, short = known[i].Kind, rest
	}
	if kind == "DaemonSet" {
		return cluster.Ref{}, fmt.Errorf("%s: a DaemonSet has no replicas; give a Deployment, ReplicaSet, StatefulSet or ReplicationController", name)
	}
	if err == nil && !slices.Contains(scalableKinds, kind) {
		return cluster.Ref{}, fmt.Errorf("%s: a %s has no replicas; give a Deployment, ReplicaSet, StatefulSet or ReplicationController", name, kind)
	}
	var found []cluster.Ref
	for _, owner := range known {
		if owner.Kind == kind && owner.Name == short && (namespace == "" || owner.Namespace == namespace) {
			found = append(found, owner)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var names []string
		for _, owner := range found {
			names = append(names, owner.Namespace+"/"+owner.String())
		}
		return cluster.Ref{}, fmt.Errorf("%s is in several namespaces; give one of %s", name, strings.Join(names, ", "))
	}
	for _, rs := range state.ReplicaSets {
		if owner := metav1.GetControllerOfNoCopy(rs); kind == "ReplicaSet" && rs.Name == short && owner != nil {
			return cluster.Ref{}, fmt.Errorf("%s: its replicas are set by %s/%s; give that instead", name, strings.ToLower(owner.Kind), owner.Name)
		}
	}
	return cluster.Ref{}, fmt.Errorf("no %s; %s", name, suggestWorkloads(name, known))
}

// findMadeBy returns the workload that a controller of an unknown kind made, such as the ReplicaSet of a Rollout, if there is exactly one.
func findMadeBy(state *cluster.State, kind, namespace, name string) (cluster.Ref, bool) {
	var made []cluster.Ref
	for _, obj := range state.Scalable() {
		by := metav1.GetControllerOfNoCopy(obj)
		if by != nil && strings.EqualFold(by.Kind, kind) && by.Name == name && (namespace == "" || obj.GetNamespace() == namespace) {
			made = append(made, cluster.RefTo(obj))
		}
	}
	if len(made) != 1 {
		return cluster.Ref{}, false
	}
	return made[0], true
}

// maxSuggestions limits how many names an error lists.
const maxSuggestions = 5

// suggestWorkloads lists the workloads whose names are most like the wanted one.
func suggestWorkloads(wanted string, known []cluster.Ref) string {
	if len(known) == 0 {
		return "there is no Deployment, ReplicaSet, StatefulSet or ReplicationController"
	}
	var names []string
	distance := map[string]int{}
	for _, owner := range known {
		name := owner.Qualified()
		names = append(names, name)
		distance[name] = levenshtein.Distance(wanted, name, nil)
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance[a] - distance[b] })
	more := ""
	if len(names) > maxSuggestions {
		more = fmt.Sprintf(" and %d more", len(names)-maxSuggestions)
	}
	return "there is " + strings.Join(names[:min(maxSuggestions, len(names))], ", ") + more
}

// Levels parses the levels of which a domain may fail, given as topology keys or as the short names of topology.Key, and returns topology
// keys. The error lists the levels that no node has or that have one domain, and the levels to give.
func Levels(nodes []*v1.Node, s *scenario.Scenario, given []string) ([]string, error) {
	var keys []string
	var problems []error
	for _, word := range given {
		key := topology.ResolveKey(nodes, word)
		domains, others := topology.Domains(nodes, key)
		switch {
		case len(domains) == 0:
			problems = append(problems, fmt.Errorf("level %s: no node has the label %s; %s", word, key, usableLevels(nodes, s)))
		case len(domains) == 1 && len(others) == 0:
			problems = append(problems, fmt.Errorf("level %s: there is one domain, %s, and nothing is left when it fails; %s", word, domains[0].Value, usableLevels(nodes, s)))
		case !slices.Contains(keys, key):
			keys = append(keys, key)
		}
	}
	return keys, errors.Join(problems...)
}

// usableLevels says which levels to give: the levels with at least two domains.
func usableLevels(nodes []*v1.Node, s *scenario.Scenario) string {
	var usable []string
	for _, key := range topology.Levels(nodes, s.LevelKeys...) {
		if domains, _ := topology.Domains(nodes, key); len(domains) > 1 {
			usable = append(usable, fmt.Sprintf("%s (%d domains)", topology.ShortKey(key), len(domains)))
		}
	}
	if len(usable) == 0 {
		return "these nodes have no level with at least two domains"
	}
	return "give " + words.Or(usable)
}
