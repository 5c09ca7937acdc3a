package controlplane

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
)

// failedCreate is the reason of the event and of the condition that a controller may not create a pod.
const failedCreate = "FailedCreate"

// publishRefusals writes which pods controllers may not create: an event about their owner and, for ReplicaSets and ReplicationControllers, a
// condition, as in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replicaset/replica_set_utils.go.
func (p *Plane) publishRefusals(to *memory.Writer, before, after *cluster.State) error {
	if slices.Equal(before.Refused, after.Refused) {
		return nil
	}
	failures := map[cluster.Ref]string{}
	for _, refusal := range after.Refused {
		owner := refusedOwner(after, refusal)
		if !refusal.IsRetried() || owner == nil {
			continue
		}
		ref := cluster.RefTo(owner)
		failures[ref] = strings.TrimPrefix(refusal.Message, "Error creating: ")
		if p.failures[ref] == failures[ref] {
			continue
		}
		controller := strings.ToLower(ref.Kind) + "-controller"
		if err := p.events.write(to, p, event{owner, ref.Kind, failedCreate, refusal.Message, controller, true}); err != nil {
			return err
		}
	}
	var changed []cluster.Ref
	for _, owners := range []map[cluster.Ref]string{p.failures, failures} {
		for ref := range owners {
			if p.failures[ref] != failures[ref] {
				changed = append(changed, ref)
			}
		}
	}
	slices.SortFunc(changed, cluster.Ref.Compare)
	p.failures = failures
	for _, ref := range slices.Compact(changed) {
		if owner := findObject(after, ref); owner != nil {
			if err := p.put(to, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusedOwner returns the object whose controller may not create a pod: of a Deployment, the ReplicaSet that the message names.
func refusedOwner(state *cluster.State, refusal cluster.Refusal) cluster.Object {
	if refusal.Kind != "Deployment" {
		return findObject(state, refusal.Ref)
	}
	for _, set := range state.ReplicaSets {
		if set.Namespace == refusal.Namespace && strings.Contains(refusal.Message, `"`+set.Name+"-") {
			return set
		}
	}
	return findObject(state, refusal.Ref)
}

// addFailure adds to the status of an object that its controller may not create pods.
func (p *Plane) addFailure(obj cluster.Object) {
	message := p.failures[cluster.RefTo(obj)]
	if message == "" {
		return
	}
	switch o := obj.(type) {
	case *appsv1.ReplicaSet:
		condition := replicaset.NewReplicaSetCondition(appsv1.ReplicaSetReplicaFailure, v1.ConditionTrue, failedCreate, message)
		condition.LastTransitionTime = p.at
		replicaset.SetCondition(&o.Status, condition)
	case *v1.ReplicationController:
		o.Status.Conditions = append(o.Status.Conditions, v1.ReplicationControllerCondition{
			Type: v1.ReplicationControllerReplicaFailure, Status: v1.ConditionTrue, Reason: failedCreate, Message: message, LastTransitionTime: p.at,
		})
	}
}
