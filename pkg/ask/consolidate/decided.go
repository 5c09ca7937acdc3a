package consolidate

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// DeciderStep is the name of the step in which a decider chooses the nodes that go.
const DeciderStep = "consolidate"

// Decided is what a decider, such as Karpenter, makes of the nodes.
type Decided struct {
	// Decider is the name of the decider.
	Decider string `json:"decider"`
	// Rounds is the number of moments at which it acts, and Seconds the time until its last act.
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	// Added are the nodes that it adds, which take the place of others.
	Added []Added `json:"added,omitempty"`
	// CostBefore and CostAfter are what the nodes with a price cost an hour; missing if none has one.
	CostBefore *float64 `json:"costBefore,omitempty"`
	CostAfter  *float64 `json:"costAfter,omitempty"`
	// NewlyPending is the number of pods that have no node afterwards and whose workload had one for them.
	NewlyPending int `json:"newlyPending"`
	// Moments are the course of the cluster.
	Moments []world.Moment `json:"moments,omitempty"`
	// Cycle is a course of acts that repeats without end; missing if the decider comes to rest.
	Cycle *world.Cycle `json:"cycle,omitempty"`
}

// Added is a node that a decider adds.
type Added struct {
	Node string `json:"node"`
	// Price is what the node costs per hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
	// Why is the decider's reason, such as the node's instance type.
	Why string `json:"why,omitempty"`
}

// DescribeDecider returns what the decider makes of the nodes in the last step of a run in which it begins at the step [DeciderStep].
func DescribeDecider(result *simulation.Result, name string) (*Answer, error) {
	before, last := &result.Steps[len(result.Steps)-2], result.Last()
	did := &Decided{Decider: name, Moments: last.Moments}
	answer := &Answer{Nodes: len(before.State.Nodes), Removed: []Removed{}, Stays: []Stay{}, End: last.State, Decided: did}
	for _, of := range last.Decided(last.State) {
		if of.Decider == name {
			did.Rounds, did.Cycle, answer.Evicted = of.Rounds, of.Cycle, of.Evicted
		}
	}
	for _, act := range last.Acts {
		did.Seconds = act.At.Sub(before.State.Now.Time).Seconds()
		if act.Verb == "create" && act.Object.Kind == "Node" && act.Refused == "" && last.State.Node(act.Object.Name) != nil {
			did.Added = append(did.Added, Added{Node: act.Object.Name, Price: act.Price, Why: act.Why})
		}
	}
	claimsBefore, claims := claimsByNode(before.State), claimsByNode(last.State)
	for _, node := range before.State.Nodes {
		if last.State.Node(node.Name) == nil {
			answer.Removed = append(answer.Removed, removedBy(last.Acts, node.Name, claimsBefore[node.Name]))
		} else {
			answer.Stays = append(answer.Stays, staysBy(result, node.Name, claims[node.Name]))
		}
	}
	var err error
	if did.CostAfter, _, err = metric.Cost(last.State.Nodes, result.Scenario.Autoscaler); err != nil {
		return nil, err
	}
	if n := len(last.Moments); n > 0 { // the first moment at which the decider has said what its nodes cost
		did.CostBefore = last.Moments[min(1, n-1)].Price
	}
	did.NewlyPending = len(cluster.NewlyPending(before.State.PodsByWorkload(), last.State))
	return answer, nil
}

// removedBy returns the node that went, with the reason of the decider's command for the node or for its claim.
func removedBy(acts []world.Act, node, claim string) Removed {
	removed := Removed{Node: node}
	for _, act := range acts {
		switch {
		case act.Refused != "":
		case act.Verb == "evict" && act.Node == node:
			removed.Evicted++
		case act.Verb == "delete" && act.Object.Kind == "Node" && act.Object.Name == node:
			removed.Price = act.Price
			removed.Why = act.Why
		case act.Verb == "delete" && claim != "" && act.Object.Kind == "NodeClaim" && act.Object.Name == claim && removed.Why == "":
			removed.Why = act.Why
		}
	}
	return removed
}

// claimsByNode returns the name of the custom resource, such as a NodeClaim, that says that it is the node, by the node's name.
func claimsByNode(state *cluster.State) map[string]string {
	claims := map[string]string{}
	for _, r := range slices.Backward(state.CustomResources) { // the first one wins
		if node, _, _ := unstructured.NestedString(r.Object, "status", "nodeName"); node != "" {
			claims[node] = r.GetName()
		}
	}
	return claims
}

// staysBy returns the node that stays, with what the decider last said of the node or of its claim.
func staysBy(result *simulation.Result, node, claim string) Stay {
	stay := Stay{Node: node, Why: Unmentioned}
	if claim != "" {
		stay.Why = ByDecider
	}
	for _, step := range slices.Backward(result.Steps) {
		for _, e := range slices.Backward(step.Events) {
			about := e.Object.Kind == "Node" && e.Object.Name == node || e.Object.Kind == "NodeClaim" && claim != "" && e.Object.Name == claim
			if about && slices.Contains(reasonsToStay, e.Reason) {
				stay.Why, stay.Message = ByDecider, e.Message
				return stay
			}
		}
	}
	return stay
}

// reasonsToStay are the reasons of the events with which Karpenter says why it does not disrupt a node:
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/events/reason.go.
var reasonsToStay = []string{"Unconsolidatable", "DisruptionBlocked", "ConsolidationRejected"}
