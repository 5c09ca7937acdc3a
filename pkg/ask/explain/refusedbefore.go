package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
)

// refusedBefore returns a gap for each workload in question whose pods the cluster of a dump refused to create, though nothing in the dump refuses them: a
// webhook, or a setting of the API server, which no object shows. Here the pods are created, so the dump's own words are all there is to say.
func refusedBefore(result *simulation.Result, step *simulation.Step, owns func(cluster.Ref) bool) []Gap {
	var gaps []Gap
	for _, rs := range step.State.ReplicaSets {
		failure := replicaset.GetCondition(rs.Status, appsv1.ReplicaSetReplicaFailure)
		owner := cluster.RefTo(rs)
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
			owner.Kind, owner.Name = ref.Kind, ref.Name
		}
		if failure == nil || failure.Status != v1.ConditionTrue || !owns(owner) {
			continue
		}
		refused := func(s simulation.Step) bool {
			return slices.ContainsFunc(s.Refused, func(r cluster.Refusal) bool { return r.Ref == owner })
		}
		if slices.ContainsFunc(result.Steps, refused) {
			continue
		}
		says := fmt.Sprintf("the cluster of the dump creates no pods for it, since %s: %s; nothing in the dump refuses them, so they are created here",
			failure.LastTransitionTime.UTC().Format(time.RFC3339), strings.TrimSuffix(failure.Message, "."))
		if strings.Contains(failure.Message, "insufficient quota to match these scopes") {
			says += fmt.Sprintf("; that API server wants a ResourceQuota in namespace %s whose scopeSelector matches, or another priorityClassName", rs.Namespace)
		}
		gaps = append(gaps, Gap{Step: step.Name, Ref: owner, Says: says})
	}
	return gaps
}
