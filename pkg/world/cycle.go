package world

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Cycle is a course of a decider's acts after which the cluster is as it was before.
type Cycle struct {
	Decider string `json:"decider"`
	// EverySeconds is the time from one such moment to the next.
	EverySeconds float64 `json:"everySeconds"`
	// Acts are what the decider does meanwhile.
	Acts []Act `json:"acts"`
}

// Describe returns the cycle as a sentence.
func (c Cycle) Describe() string {
	evicted := map[string]int{}
	others := 0
	for _, act := range c.Acts {
		switch {
		case act.Refused != "":
		case act.Verb == "evict":
			evicted[act.Owner.Qualified()]++
		default:
			others++
		}
	}
	var parts []string
	if len(evicted) > 0 {
		owners := slices.SortedFunc(maps.Keys(evicted), func(a, b string) int { return cmp.Or(cmp.Compare(evicted[b], evicted[a]), cmp.Compare(a, b)) })
		parts = append(parts, "evicts "+words.Few(list.Map(owners, func(owner string) string { return fmt.Sprintf("%s of %s", words.Count(evicted[owner], "pod"), owner) })))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("makes %s", words.Count(others, "other change")))
	}
	return fmt.Sprintf("%s never comes to rest: every %s it %s, and the cluster is as before.", c.Decider,
		words.FormatDuration(time.Duration(c.EverySeconds*float64(time.Second))), words.And(parts))
}

// moments are the states of the cluster in a step at which a decider was asked, and what it had done by then.
type moments struct {
	seen map[signature]moment
	// rounds counts the moments at which it acted.
	rounds int
	rests  bool // it is not asked any more in this step
}

type moment struct {
	at   time.Time
	acts int // number of the record's acts
}

// signature is a hash of a state; see signState.
type signature [sha256.Size]byte

// signState returns a hash of what a decider can see of the state, without the names that controllers and deciders make up, and without times.
func signState(state *cluster.State) signature {
	made := map[string]bool{}
	for _, r := range state.CustomResources {
		made[r.GetName()] = true
	}
	nodes := map[string]string{}
	var lines []string
	for _, node := range state.Nodes {
		name := node.Name
		owned := len(node.OwnerReferences) > 0
		var parts []string
		// A node's annotations tell, too, whether it was replaced: Karpenter's say of which version of its NodePool it is.
		for _, names := range []map[string]string{node.Labels, node.Annotations} {
			for _, key := range slices.Sorted(maps.Keys(names)) {
				if value := names[key]; value != node.Name && !made[value] && key != v1.LabelHostname {
					parts = append(parts, fmt.Sprint(key, "=", withoutTimes(value)))
				}
			}
		}
		for _, taint := range node.Spec.Taints {
			parts = append(parts, fmt.Sprint(taint.Key, "=", withoutTimes(taint.Value), ":", taint.Effect))
		}
		if owned { // a decider made it, and makes up its name
			name = "new"
		}
		nodes[node.Name] = name + " " + strings.Join(parts, " ")
		lines = append(lines, "node "+nodes[node.Name])
	}
	owner := state.Owners()
	for _, pod := range state.Pods {
		lines = append(lines, fmt.Sprintf("pod %s %s %t %d", owner(pod).Qualified(), nodes[pod.Spec.NodeName], pod.DeletionTimestamp != nil, len(pod.Spec.SchedulingGates)))
	}
	for _, job := range state.Jobs {
		lines = append(lines, fmt.Sprintf("job %s/%s %t", job.Namespace, job.Name, job.Spec.Suspend != nil && *job.Spec.Suspend))
	}
	for _, r := range state.CustomResources {
		if len(r.GetOwnerReferences()) == 0 {
			status, _ := json.Marshal(withoutTimes(r.Object["status"]))
			lines = append(lines, fmt.Sprintf("%s %s/%s %s", r.GetKind(), r.GetNamespace(), r.GetName(), status))
		}
	}
	slices.Sort(lines)
	return sha256.Sum256([]byte(strings.Join(lines, "\n")))
}

// withoutTimes returns a value of JSON without what looks like a time in its texts.
func withoutTimes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			kept[key] = withoutTimes(inner)
		}
		return kept
	case []any:
		var kept []any
		for _, inner := range v {
			kept = append(kept, withoutTimes(inner))
		}
		return kept
	case string:
		return someTime.ReplaceAllString(v, "")
	}
	return value
}

// someTime matches a time in a text, as in an annotation that says since when a node is empty: of RFC 3339, or seconds or milliseconds since 1970,
// from the year 2017 to 2036.
var someTime = regexp.MustCompile(`\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?|(1[5-9]|20)\d{8}(\d{3})?)\b`)
