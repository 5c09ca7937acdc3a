package advice

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// A rule has nothing to keep apart if there is one pod. For a workload with one replica, two replicas are therefore tried as rules are:
// with the present rule, with each rule over one level, and with a rule over the widest level and the hostname.

// replicasTried is the number of replicas that is tried for a workload with one.
const replicasTried = 2

// secondReplicaProposals returns the proposals with two replicas for a workload that has one, or says why it cannot have a second.
func (r *evaluator) secondReplicaProposals() (all []proposal, why string) {
	if replicas := cluster.ReplicasOf(r.workload); replicas == nil || *replicas == nil || **replicas != 1 {
		return nil, ""
	}
	if why := r.explainSharedClaim(); why != "" {
		return nil, why
	}
	all = []proposal{{name: AsItIs, keepsRules: true}}
	keys := topology.MultiDomainLevels(r.scenario.Nodes(), r.scenario.LevelKeys...)
	for _, key := range keys {
		name := shortKey(key)
		all = append(all, newProposal("spread "+name+" softly", 3, topologySpread(key, 1, false)), newProposal("spread "+name, 3, topologySpread(key, 1, true)))
	}
	if n := len(keys); n > 1 && keys[n-1] == v1.LabelHostname {
		wide := shortKey(keys[n-2])
		all = append(all, newProposal("spread "+wide+" + softly hostname", 7, topologySpread(keys[n-2], 1, true), topologySpread(v1.LabelHostname, 1, false)))
	}
	for i := range all {
		all[i].replicas = replicasTried
		if all[i].name = "2 replicas, " + all[i].name; all[i].keepsRules {
			all[i].name = "2 replicas"
		}
	}
	return all, ""
}

// explainSharedClaim says which claim keeps a second pod from another node; "" if none does. The pods of a workload share the claims that its
// template names, and the access modes of a claim may allow only one node, or one pod, at a time.
func (r *evaluator) explainSharedClaim() string {
	state := r.result.State()
	template, _ := cluster.Template(r.workload)
	for _, volume := range template.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		of := cluster.Ref{Kind: "PersistentVolumeClaim", Namespace: r.owner.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
		claim, found := state.Find(of).(*v1.PersistentVolumeClaim)
		if !found || slices.ContainsFunc(claim.Spec.AccessModes, func(mode v1.PersistentVolumeAccessMode) bool {
			return mode == v1.ReadWriteMany || mode == v1.ReadOnlyMany
		}) {
			continue
		}
		mode := v1.ReadWriteOnce
		if len(claim.Spec.AccessModes) > 0 {
			mode = claim.Spec.AccessModes[0]
		}
		return fmt.Sprintf("its pods share persistentvolumeclaim/%s, which is %s: no pod on another node can use it at the same time", claim.Name, mode)
	}
	return ""
}

// setReplicaCost notes what the further replica requests, and what its owner has to check.
func (r *evaluator) setReplicaCost(c *Candidate, replicas int32) {
	c.Replicas, c.Asks = replicas, map[string]string{}
	template, _ := cluster.Template(r.workload)
	for name, quantity := range resource.PodRequests(&v1.Pod{Spec: template.Spec}, resource.PodResourcesOptions{}) {
		c.Asks[string(name)] = quantity.String()
	}
	state := r.result.State()
	for _, hpa := range state.HorizontalPodAutoscalers {
		if r.owner == cluster.ScaleTarget(hpa) {
			c.ScaledBy = hpa.Name
		}
	}
	switch o := r.workload.(type) {
	case *appsv1.Deployment:
		c.Alone = o.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
	case *appsv1.StatefulSet:
		for _, claim := range o.Spec.VolumeClaimTemplates {
			storage := claim.Spec.Resources.Requests[v1.ResourceStorage]
			c.Storage = append(c.Storage, fmt.Sprintf("%s of %s", claim.Name, storage.String()))
		}
	}
}

// explainNoSecondReplica says why the second replica gets no node, or only the node of the first; "" if some candidate places it on another node.
func explainNoSecondReplica(candidates []Candidate) string {
	now, why := findUnchanged(candidates), ""
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.Replicas == 0:
		case c.OwnPending > now.OwnPending:
			why = cmp.Or(why, "a second pod would be Pending: "+c.Why)
		case slices.ContainsFunc(c.Levels, func(l metric.LevelMetrics) bool { return l.Radius < 1 }):
			return ""
		default:
			why = "a second pod would be on the node of the first"
		}
	}
	return why
}
