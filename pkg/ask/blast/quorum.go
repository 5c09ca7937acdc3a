package blast

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

type voter struct {
	owner      cluster.Ref
	annotation string
	annotated  bool
	// known means that the workload belongs to a system whose members are known to vote.
	known bool
	// wanted is the number of pods that the workload asks for. A majority counts these, not the pods that happen to run.
	wanted int
}

func (v voter) majority() int { return v.wanted/2 + 1 }

// knownVoters are the pod labels of StatefulSets whose members elect a leader or commit by majority: etcd with its usual label and as
// KafScale's operator runs it, and the ensembles, controllers and journals of Stackable's operators. See
// https://github.com/KafScale/platform/blob/main/pkg/operator/etcd_resources.go and
// https://github.com/stackabletech/operator-rs/blob/main/crates/stackable-operator/src/kvp/label/mod.rs
var knownVoters = []labels.Set{
	{"app.kubernetes.io/name": "etcd"},
	{"app": "kafscale-etcd"},
	{"app.kubernetes.io/name": "zookeeper", "app.kubernetes.io/component": "server"},
	{"app.kubernetes.io/name": "kafka", "app.kubernetes.io/component": "controller"},
	{"app.kubernetes.io/name": "hdfs", "app.kubernetes.io/component": "journalnode"},
}

// listVoters returns the workloads that have a number of replicas: Deployments, StatefulSets, ReplicationControllers, ReplicaSets without a
// controller, and unknown owners.
func listVoters(state *cluster.State) []voter {
	var all []voter
	add := func(kind string, obj cluster.Object, replicas *int32, pod map[string]string) {
		v := voter{owner: cluster.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}}
		v.annotation, v.annotated = obj.GetAnnotations()[QuorumAnnotation]
		v.wanted = int(ptr.Deref(replicas, 1)) // the API's default
		v.known = slices.ContainsFunc(knownVoters, func(known labels.Set) bool { return known.AsSelectorPreValidated().Matches(labels.Set(pod)) })
		all = append(all, v)
	}
	for _, d := range state.Deployments {
		add("Deployment", d, d.Spec.Replicas, nil)
	}
	for _, set := range state.StatefulSets {
		add("StatefulSet", set, set.Spec.Replicas, set.Spec.Template.Labels)
	}
	for _, rs := range state.ReplicaSets {
		// a Deployment copies its annotations to its ReplicaSets
		if metav1.GetControllerOfNoCopy(rs) == nil {
			add("ReplicaSet", rs, rs.Spec.Replicas, nil)
		}
	}
	for _, rc := range state.ReplicationControllers {
		add("ReplicationController", rc, rc.Spec.Replicas, nil)
	}
	for _, owner := range state.UnknownOwners {
		add(owner.Kind, owner, owner.Spec.Replicas, owner.Spec.Template.Labels)
	}
	return all
}

// Quorums returns the number of pods that each workload needs, for the workloads that are annotated, named, or part of a system whose
// members are known to vote. A name takes precedence over an annotation, and an annotation over a known system. Names and known systems
// mean a majority. The error lists every invalid annotation and name.
func Quorums(state *cluster.State, named []string) (map[cluster.Ref]int, error) {
	voters := listVoters(state)
	quorum := map[cluster.Ref]int{}
	var problems []error
	for _, v := range voters {
		if !v.annotated {
			if v.known {
				quorum[v.owner] = v.majority()
			}
			continue
		}
		if v.annotation == "majority" {
			quorum[v.owner] = v.majority()
			continue
		}
		n, err := strconv.ParseUint(v.annotation, 10, 31)
		if err != nil || n == 0 {
			problems = append(problems, fmt.Errorf("%s: annotation %s: %q is not a quorum; give a number of at least 1, or majority",
				fullName(v.owner), QuorumAnnotation, v.annotation))
			continue
		}
		quorum[v.owner] = int(n)
	}
	for _, name := range named {
		v, err := findVoter(voters, name)
		if err != nil {
			problems = append(problems, fmt.Errorf("quorum: %w", err))
			continue
		}
		quorum[v.owner] = v.majority()
	}
	return quorum, errors.Join(problems...)
}

// copyQuorumsOf returns, for a federation, the workloads with a quorum of which each cluster has its own copy, and for each the quorums of the
// copies by cluster. It leaves out workloads whose replicas Karmada divides among clusters: their replicas vote together.
func copyQuorumsOf(state *cluster.State, quorum map[cluster.Ref]int) map[cluster.Ref]map[string]int {
	if state.Federation == nil {
		return nil
	}
	all := map[cluster.Ref]map[string]int{}
	for _, m := range state.Federation.Members {
		for _, v := range listVoters(m.State) {
			b := state.Federation.Control.BindingOf(v.owner)
			if quorum[v.owner] == 0 || b != nil && b.Divided() {
				continue
			}
			if all[v.owner] == nil {
				all[v.owner] = map[string]int{}
			}
			all[v.owner][m.Name] = v.majority()
			if v.annotation == strconv.Itoa(quorum[v.owner]) { // the annotation is a number, which counts for each copy
				all[v.owner][m.Name] = quorum[v.owner]
			}
		}
	}
	return all
}

// lostCopyQuorum returns the quorum of the first cluster's copy that loses its quorum with the pods; if no copy does, the quorum of the first
// copy that loses a pod.
func (w *knownWorkload) lostCopyQuorum(pods []string) (quorum int, lost bool) {
	gone := map[string]int{}
	for _, pod := range pods {
		member, _ := cluster.SplitName(pod)
		gone[member]++
	}
	for _, member := range slices.Sorted(maps.Keys(gone)) {
		needs, has := w.copyQuorums[member], w.clusters[member]
		if has >= needs && has-gone[member] < needs {
			return needs, true
		}
		if quorum == 0 {
			quorum = needs
		}
	}
	return quorum, false
}

// findVoter returns the workload with the name kind/name or namespace/kind/name. Without a namespace, it must be the only workload of that kind
// and name.
func findVoter(voters []voter, target string) (voter, error) {
	wanted, err := scenario.ParseWorkload(target)
	if err != nil {
		return voter{}, err
	}
	found := list.Where(voters, func(v voter) bool { return scenario.MatchesName(v.owner, wanted) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(voters) == 0 {
			return voter{}, fmt.Errorf("no workload %q; the cluster has no Deployment, StatefulSet, ReplicaSet or ReplicationController", target)
		}
		return voter{}, fmt.Errorf("no workload %q; give one of %s", target, listNames(voters))
	default:
		return voter{}, fmt.Errorf("%q is in several namespaces; give one of %s", target, listNames(found))
	}
}

// maxListedNames limits how many names an error lists.
const maxListedNames = 20

func listNames(voters []voter) string {
	names := list.Map(voters, func(v voter) string { return fullName(v.owner) })
	slices.Sort(names)
	if more := len(names) - maxListedNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListedNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// fullName returns the owner as namespace/kind/name.
func fullName(o cluster.Ref) string { return o.Namespace + "/" + o.String() }
