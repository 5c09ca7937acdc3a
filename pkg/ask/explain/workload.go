package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/variant"
)

// Changes to the workload itself: its rules, tolerations, requests, and replicas.

func (p *pendingPod) soften() []attempt {
	var attempts []attempt
	for _, r := range rule.Of(p.spec) {
		if !r.Hard {
			continue
		}
		change, edit := softened(r), rule.Soften
		if !rule.Soften(p.spec.DeepCopy(), r) {
			change, edit = "remove the "+r.String(), rule.Without
		}
		attempts = append(attempts, p.once(change+p.rolled(), variant.Change(p.scenario, p.owner, func(spec *v1.PodSpec) { edit(spec, r) })))
	}
	return attempts
}

// rolled says that a change of the template reaches pods that run by a rollout; nothing if none runs before.
func (p *pendingPod) rolled() string {
	if variant.Rolled(p.scenario, p.owner) {
		return ", by a rollout"
	}
	return ""
}

// softened describes how a hard rule becomes soft.
func softened(r rule.Rule) string {
	switch r.Kind {
	case rule.Spread:
		return fmt.Sprintf("make the spread over %s %s", r.TopologyKey, v1.ScheduleAnyway)
	case rule.NodeSelector:
		return fmt.Sprintf("make the %s preferred node affinity", r)
	}
	return fmt.Sprintf("make the %s preferred", r)
}

func (p *pendingPod) tolerate() []attempt {
	var taints []v1.Taint
	for _, node := range p.nodes {
		for _, taint := range node.Spec.Taints {
			known := slices.ContainsFunc(taints, func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value })
			alone := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{taint}}}
			if !known && !strings.HasPrefix(taint.Key, "node.kubernetes.io/") && cluster.Repels(alone, p.pod) {
				taints = append(taints, taint)
			}
		}
	}
	var attempts []attempt
	for _, taint := range taints[:min(len(taints), maxEach)] {
		toleration := v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}
		attempts = append(attempts, p.once("tolerate "+taint.ToString()+p.rolled(), variant.Change(p.scenario, p.owner, func(spec *v1.PodSpec) {
			if !slices.Contains(spec.Tolerations, toleration) {
				spec.Tolerations = append(spec.Tolerations, toleration)
			}
		})))
	}
	return attempts
}

// unit is the step by which a request is reduced.
type unit struct {
	resource v1.ResourceName
	word     string
	amount   func(resource.Quantity) int64 // rounded up
	quantity func(int64) resource.Quantity
}

const mebi = 1 << 20

var units = []unit{
	{v1.ResourceCPU, "CPU", func(q resource.Quantity) int64 { return q.MilliValue() },
		func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }},
	{v1.ResourceMemory, "memory", func(q resource.Quantity) int64 { return (q.Value() + mebi - 1) / mebi },
		func(n int64) resource.Quantity { return *resource.NewQuantity(n*mebi, resource.BinarySI) }},
}

func (p *pendingPod) requestLess() []attempt {
	if p.spec.Resources != nil || p.made {
		return nil // a pod-level request takes precedence over its containers'
	}
	var attempts []attempt
	for _, u := range units {
		i := p.greediest(u.resource)
		if i < 0 {
			continue
		}
		container := p.spec.Containers[i].Name
		request := requestOf(&p.spec.Containers[i], u.resource)
		now := u.amount(request)
		if now < 2 {
			continue
		}
		where := ""
		if len(p.spec.Containers) > 1 {
			where = " in container " + container
		}
		try := func(ctx context.Context, amount int64) (*Fix, error) {
			quantity := u.quantity(amount)
			change := fmt.Sprintf("request at most %s %s%s (now %s)", quantity.String(), u.word, where, request.String())
			return p.run(ctx, change+p.rolled(), variant.Change(p.scenario, p.owner, func(spec *v1.PodSpec) { atMost(spec, container, u.resource, quantity) }), p.running)
		}
		attempts = append(attempts, attempt{[]string{fmt.Sprintf("request less %s%s", u.word, where)}, func(ctx context.Context) (*Fix, error) {
			fix, err := try(ctx, 1)
			if fix == nil || err != nil {
				return nil, err
			}
			return halve(1, now, fix, func(amount int64) (*Fix, error) { return try(ctx, amount) })
		}})
	}
	return attempts
}

// greediest returns the container that requests most of the resource, or -1 if none requests any.
func (p *pendingPod) greediest(name v1.ResourceName) int {
	found := -1
	var most resource.Quantity
	for i := range p.spec.Containers {
		if request := requestOf(&p.spec.Containers[i], name); request.Cmp(most) > 0 {
			found, most = i, request
		}
	}
	return found
}

// requestOf returns what a pod with this container requests for it: its limit, unless a template says otherwise.
func requestOf(container *v1.Container, name v1.ResourceName) resource.Quantity {
	if request, given := container.Resources.Requests[name]; given {
		return request
	}
	return container.Resources.Limits[name]
}

// atMost lowers the container's request if it is larger.
func atMost(spec *v1.PodSpec, container string, name v1.ResourceName, most resource.Quantity) {
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if request := requestOf(c, name); c.Name != container || request.Cmp(most) <= 0 {
			continue
		}
		if c.Resources.Requests == nil {
			c.Resources.Requests = v1.ResourceList{}
		}
		c.Resources.Requests[name] = most
	}
}

func (p *pendingPod) fewerReplicas() []attempt {
	obj := cluster.Find(p.step.State.Objects(), p.owner)
	replicas, scales := int32(0), false
	if obj != nil {
		replicas, scales = cluster.Replicas(obj)
	}
	// A StatefulSet has not even created the pods after the waiting one.
	most := min(max(p.waiting, int(replicas)-p.running), int(replicas)-1)
	if p.member != nil {
		most = int(replicas) - 1 // Karmada takes from all clusters, also from those where all run
	}
	if !scales || most < 1 || p.made {
		return nil
	}
	try := func(ctx context.Context, fewer int64) (*Fix, error) {
		left := int(replicas) - int(fewer)
		change := fmt.Sprintf("%d replicas fewer: %d", fewer, left)
		if fewer == 1 {
			change = fmt.Sprintf("one replica fewer: %d", left)
		}
		fix, err := p.run(ctx, change, variant.Scale(p.scenario, p.owner, p.step.Name, int32(left)), min(p.running, left))
		if fix == nil || fix.OfWorkload > 0 {
			return nil, err
		}
		return fix, err
	}
	return []attempt{{[]string{"fewer replicas"}, func(ctx context.Context) (*Fix, error) {
		fix, err := try(ctx, int64(most))
		if fix == nil || err != nil {
			return nil, err
		}
		return halve(int64(most), 0, fix, func(fewer int64) (*Fix, error) { return try(ctx, fewer) })
	}}}
}
