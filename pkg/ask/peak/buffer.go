package peak

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Buffer is a CapacityBuffer: an autoscaler keeps nodes for that many further pods of the workload.
type Buffer struct {
	cluster.WorkloadRef
	Replicas int `json:"replicas"`

	ref cluster.Ref
}

// bufferTries is the largest number of sizes of buffers that are tried.
const bufferTries = 4

// keepBuffer finds CapacityBuffers for the workloads that grow and lack nodes. An autoscaler without limits adds nodes for the pods that the
// buffers stand for; these nodes are added in advance, and tried. A buffer is for the whole growth and for the pods without a node. The next try is
// for the pods that still have none, too, or for twice as many if the buffer did not help: the present room may hold it.
func (f *finder) keepBuffer(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	groups, err := f.growingGroups()
	if err != nil || f.base.Scenario.Autoscaler != nil || len(groups) == 0 || answer.Most() > fewPods {
		return nil, err
	}
	r := &Remedy{Kind: "buffer"}
	for _, t := range f.targets {
		at := slices.IndexFunc(answer.Starved, func(s Starved) bool { return s.ref == t.Ref && s.Grows })
		if at >= 0 && slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, t.Kind) {
			s := &answer.Starved[at]
			r.Buffers = append(r.Buffers, Buffer{t.Workload(), int(t.Replicas-t.Now) + max(s.Short, s.AfterLoss), t.Ref})
		}
	}
	if len(r.Buffers) == 0 || len(r.Buffers) > maxPreferred {
		return nil, nil
	}
	var best *Remedy
	before := len(answer.claims)
	for range bufferTries {
		var steps []scenario.Step
		for _, b := range r.Buffers {
			now, _ := cluster.Replicas(f.before.state.Find(b.ref))
			steps = append(steps, scenario.Step{Name: "buffer of " + b.Qualified(), Scale: &scenario.Scale{Target: scenario.Target{Target: b.ref.String(), Namespace: b.ref.Namespace}, Replicas: now + int32(b.Replicas)}})
		}
		added, err := f.growAfter(ctx, groups, nil, steps)
		if err != nil {
			return nil, err
		}
		tried := &Remedy{Kind: r.Kind, Buffers: slices.Clone(r.Buffers)}
		add, _ := tried.addNodes(groups, added)
		more := 0
		if tried.Nodes > 0 {
			tried.describeBuffers()
			claims := len(answer.claims)
			found, err := f.trySteps(ctx, tried, answer, add, domains)
			if err != nil {
				return nil, err
			}
			if best = answer.keepBetter(best, found, before, claims); best != nil && best.Most() == 0 {
				return best, nil
			}
			if found != nil {
				more = found.Most()
			}
		}
		for i := range r.Buffers {
			r.Buffers[i].Replicas += cmp.Or(more, r.Buffers[i].Replicas)
		}
	}
	return best, nil
}

// describeBuffers says which buffers the change adds, and gives the commands. Karpenter and the Cluster Autoscaler read the object:
// https://karpenter.sh/docs/concepts/capacitybuffers/.
func (r *Remedy) describeBuffers() {
	var parts []string
	for _, b := range r.Buffers {
		parts = append(parts, fmt.Sprintf("%s of %s", words.Count(b.Replicas, "further pod"), b.Qualified()))
		kind := map[string]any{"apiGroup": "apps", "kind": b.ref.Kind, "name": b.ref.Name}
		object := map[string]any{"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": map[string]any{"name": b.ref.Name, "namespace": b.ref.Namespace},
			"spec": map[string]any{"scalableRef": kind, "replicas": b.Replicas}}
		r.Commands = append(r.Commands, fmt.Sprintf("echo '%s' | kubectl apply -f -", toJSON(object)))
	}
	r.What = fmt.Sprintf("a CapacityBuffer for %s, for which an autoscaler adds %s", words.Few(parts), words.Count(r.Nodes, "node"))
}
