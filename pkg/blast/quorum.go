package blast

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// voter is a workload whose pods may need a quorum.
type voter struct {
	owner      cluster.Owner
	annotation string
	annotated  bool
	// wanted is the number of pods that it asks for: a majority is one of these, not of those that happen to run.
	wanted int
}

func (v voter) majority() int { return v.wanted/2 + 1 }

// voters are the workloads that ask for a number of pods: Deployments, StatefulSets, and ReplicaSets that stand alone. A kind
// whose objects are known to vote, such as a database that an operator runs, would be added here, with its majority.
func voters(state *cluster.State) []voter {
	var all []voter
	add := func(kind string, obj cluster.Object, replicas *int32) {
		v := voter{owner: cluster.Owner{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}}
		v.annotation, v.annotated = obj.GetAnnotations()[QuorumAnnotation]
		v.wanted = int(ptr.Deref(replicas, 1)) // 1 is the API's default.
		all = append(all, v)
	}
	for _, d := range state.Deployments {
		add("Deployment", d, d.Spec.Replicas)
	}
	for _, set := range state.StatefulSets {
		add("StatefulSet", set, set.Spec.Replicas)
	}
	for _, rs := range state.ReplicaSets {
		// The Deployment above a ReplicaSet copies its annotations to it.
		if metav1.GetControllerOfNoCopy(rs) == nil {
			add("ReplicaSet", rs, rs.Spec.Replicas)
		}
	}
	return all
}

// Quorums returns how many of its pods each workload needs that says so, by its annotation or because it is named. A name wins
// over an annotation and asks for the majority. The error tells every annotation and every name that is not legal.
func Quorums(state *cluster.State, named []string) (map[cluster.Owner]int, error) {
	voters := voters(state)
	quorum := map[cluster.Owner]int{}
	var problems []error
	for _, v := range voters {
		if !v.annotated {
			continue
		}
		if v.annotation == "majority" {
			quorum[v.owner] = v.majority()
			continue
		}
		n, err := strconv.ParseUint(v.annotation, 10, 31)
		if err != nil || n == 0 {
			problems = append(problems, fmt.Errorf("%s: annotation %s: %q is no quorum; give a number from 1, or majority",
				fullName(v.owner), QuorumAnnotation, v.annotation))
			continue
		}
		quorum[v.owner] = int(n)
	}
	for _, name := range named {
		v, err := find(voters, name)
		if err != nil {
			problems = append(problems, fmt.Errorf("quorum: %w", err))
			continue
		}
		quorum[v.owner] = v.majority()
	}
	return quorum, errors.Join(problems...)
}

// find returns the workload that kind/name or namespace/kind/name stands for. Without a namespace it must be the only one of
// that kind and name.
func find(voters []voter, target string) (voter, error) {
	namespace, rest := "", target
	if strings.Count(target, "/") == 2 {
		namespace, rest, _ = strings.Cut(target, "/")
	}
	kind, name, err := scenario.ParseTarget(rest)
	if err != nil {
		return voter{}, fmt.Errorf("%q: give kind/name or namespace/kind/name, for example statefulset/db", target)
	}
	var found []voter
	for _, v := range voters {
		if v.owner.Kind == kind && v.owner.Name == name && (namespace == "" && rest == target || v.owner.Namespace == namespace) {
			found = append(found, v)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(voters) == 0 {
			return voter{}, fmt.Errorf("no workload %q; the cluster has no Deployment, StatefulSet or ReplicaSet", target)
		}
		return voter{}, fmt.Errorf("no workload %q; give one of %s", target, candidates(voters))
	default:
		return voter{}, fmt.Errorf("%q is in several namespaces; give one of %s", target, candidates(found))
	}
}

// maxCandidates bounds how many names an error lists.
const maxCandidates = 20

func candidates(voters []voter) string {
	var names []string
	for _, v := range voters {
		names = append(names, fullName(v.owner))
	}
	slices.Sort(names)
	if more := len(names) - maxCandidates; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxCandidates], ", "), more)
	}
	return strings.Join(names, ", ")
}

// fullName is the owner as namespace/kind/name.
func fullName(o cluster.Owner) string { return o.Namespace + "/" + o.String() }
