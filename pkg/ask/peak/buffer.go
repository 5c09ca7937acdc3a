package peak

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Buffer is room for that many further pods of the workload, for which an autoscaler keeps nodes: a CapacityBuffer, or a Deployment of balloon
// pods.
type Buffer struct {
	cluster.WorkloadRef
	Replicas int `json:"replicas"`

	ref cluster.Ref
}

// bufferTries is the largest number of sizes of buffers that are tried.
const bufferTries = 4

// keepBuffer finds CapacityBuffers for the workloads that grow and lack nodes.
func (f *finder) keepBuffer(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	return f.keepRoom(ctx, answer, domains, &Remedy{Kind: "buffer", Buffers: f.listBuffers(answer)})
}

// keepBalloon finds balloon Deployments for the same workloads, of the sizes of the CapacityBuffers if these help.
func (f *finder) keepBalloon(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	buffers := f.listBuffers(answer)
	if at := slices.IndexFunc(answer.Remedies, func(r Remedy) bool { return r.Kind == "buffer" }); at >= 0 {
		buffers = slices.Clone(answer.Remedies[at].Buffers)
	}
	return f.keepRoom(ctx, answer, domains, &Remedy{Kind: "balloon", Buffers: buffers})
}

// listBuffers returns a buffer for each workload that grows and lacks nodes: for its whole growth, and for its pods without a node.
func (f *finder) listBuffers(answer *Answer) []Buffer {
	var all []Buffer
	for _, t := range f.targets {
		at := slices.IndexFunc(answer.Starved, func(s Starved) bool { return s.ref == t.Ref && s.Grows })
		if at >= 0 && slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, t.Kind) {
			s := &answer.Starved[at]
			all = append(all, Buffer{t.Workload(), int(t.Replicas-t.Now) + max(s.Short, s.AfterLoss), t.Ref})
		}
	}
	return all
}

// keepRoom finds the sizes of the buffers of a change. An autoscaler without limits adds nodes for the pods that the buffers stand for; these nodes
// are added in advance, and tried. The next try is for the pods that still have no node, too, or for twice as many if the buffers did not help: the
// present room may hold them.
func (f *finder) keepRoom(ctx context.Context, answer *Answer, domains []domain, r *Remedy) (*Remedy, error) {
	groups, err := f.growingGroups()
	if err != nil || f.base.Scenario.Autoscaler != nil || len(groups) == 0 || answer.Most() > fewPods || len(r.Buffers) == 0 || len(r.Buffers) > maxPreferred {
		return nil, err
	}
	var best *Remedy
	before := len(answer.claims)
	for range bufferTries {
		tried := &Remedy{Kind: r.Kind, Buffers: slices.Clone(r.Buffers)}
		steps, err := f.occupy(tried)
		if err != nil {
			return nil, err
		}
		added, err := f.growAfter(ctx, groups, nil, steps)
		if err != nil {
			return nil, err
		}
		add, _ := tried.addNodes(groups, added)
		more := 0
		if tried.Nodes > 0 {
			if r.Kind == "balloon" { // its pods are there when the peak begins
				add = slices.Concat(steps, add)
			}
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

// occupy returns the steps that make the pods for which the autoscaler adds nodes, and sets the change's commands. A CapacityBuffer stands for more
// pods of its workload.
func (f *finder) occupy(r *Remedy) (steps []scenario.LoadedStep, err error) {
	if r.Kind == "balloon" {
		return f.inflate(r)
	}
	for _, b := range r.Buffers {
		now, _ := cluster.Replicas(f.before.state.Find(b.ref))
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "buffer of " + b.Qualified(), Scale: &scenario.Scale{Target: scenario.Target{Target: b.ref.String(), Namespace: b.ref.Namespace}, Replicas: now + int32(b.Replicas)}}})
		// Karpenter and the Cluster Autoscaler read the object: https://karpenter.sh/docs/concepts/capacitybuffers/.
		r.Commands = append(r.Commands, applyCommand(map[string]any{"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": map[string]any{"name": b.ref.Name, "namespace": b.ref.Namespace},
			"spec": map[string]any{"scalableRef": map[string]any{"apiGroup": "apps", "kind": b.ref.Kind, "name": b.ref.Name}, "replicas": b.Replicas}}))
	}
	return steps, nil
}

// describeBuffers says which buffers or balloons the change adds.
func (r *Remedy) describeBuffers() {
	of := func(what string) string {
		return words.Few(list.Map(r.Buffers, func(b Buffer) string { return fmt.Sprintf("%s of %s", words.Count(b.Replicas, what), b.Qualified()) }))
	}
	r.What = fmt.Sprintf("a CapacityBuffer for %s, for which an autoscaler adds %s", of("further pod"), words.Count(r.Nodes, "node"))
	if r.Kind == "balloon" {
		r.What = fmt.Sprintf("%s of the size of %s, for which an autoscaler adds %s", words.Count(r.countReplicas(), "balloon pod"),
			words.Few(list.Map(r.Buffers, func(b Buffer) string { return "those of " + b.Qualified() })), words.Count(r.Nodes, "node"))
	}
}

// countReplicas returns the number of pods of all buffers.
func (r *Remedy) countReplicas() int {
	sum := 0
	for _, b := range r.Buffers {
		sum += b.Replicas
	}
	return sum
}

// applyCommand returns the command that applies the object.
func applyCommand(object map[string]any) string {
	return fmt.Sprintf("echo '%s' | kubectl apply -f -", toJSON(object))
}
