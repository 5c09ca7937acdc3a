package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	karpenterscheduling "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/faultline/faultline/deciders/kit/api"
)

const (
	pollingPeriod   = 10 * time.Second // of pkg/controllers/disruption/controller.go
	validationDelay = 15 * time.Second // commandValidationDelay of pkg/controllers/disruption/consolidation.go
)

// The methods in the order in which the disruption loop tries them.
const (
	emptiness = iota
	staticDrift
	drift
	multiNode
	singleNode
)

// errProposed stops the disruption loop: a command has been found, and waits for its validation.
var errProposed = errors.New("proposed")

// newMethods makes Karpenter's methods with validators that do not wait in their place but have the command remembered: as
// disruption.NewMethods does.
func (o *operator) newMethods() []disruption.Method {
	c := disruption.MakeConsolidation(o.clock, o.cluster, o.api, o.provisioner, o.provider, o.recorder, o.queue)
	return []disruption.Method{
		emptiness:   disruption.NewEmptiness(c, disruption.WithValidator(&waiter{o, emptiness})),
		staticDrift: disruption.NewStaticDrift(o.cluster, o.provisioner, o.provider),
		drift:       disruption.NewDrift(o.api, o.cluster, o.provisioner, o.recorder, o.clock),
		multiNode:   disruption.NewMultiNodeConsolidation(c, disruption.WithValidator(&waiter{o, multiNode})),
		singleNode:  disruption.NewSingleNodeConsolidation(c, disruption.WithValidator(&waiter{o, singleNode})),
	}
}

// validator returns the method's own validator.
func (o *operator) validator(method int) disruption.Validator {
	c := disruption.MakeConsolidation(o.clock, o.cluster, o.api, o.provisioner, o.provider, o.recorder, o.queue)
	switch method {
	case emptiness:
		return disruption.NewEmptinessValidator(c)
	case multiNode:
		return disruption.NewMultiConsolidationValidator(c)
	default:
		return disruption.NewSingleConsolidationValidator(c)
	}
}

// waiter is the validator of a method: it remembers the command instead of waiting 15 seconds.
type waiter struct {
	o      *operator
	method int
}

// Validate implements disruption.Validator.
func (w *waiter) Validate(_ context.Context, cmd disruption.Command, _ time.Duration) (disruption.Command, error) {
	proposed := &proposal{Method: w.method, Until: w.o.clock.now.Add(validationDelay)}
	for _, candidate := range cmd.Candidates {
		proposed.Nodes = append(proposed.Nodes, candidate.Name())
	}
	for _, replacement := range cmd.Replacements {
		for _, instanceType := range replacement.InstanceTypeOptions {
			proposed.Replacement = append(proposed.Replacement, instanceType.Name)
		}
		if capacityType := replacement.Requirements.Get(v1.CapacityTypeLabelKey); capacityType.Operator() == corev1.NodeSelectorOpIn {
			proposed.CapacityTypes = sorted(lo.Keyify(capacityType.Values()))
		}
	}
	w.o.memory.Proposal = proposed
	return disruption.Command{}, errProposed
}

// disrupt is the disruption loop: Reconcile of pkg/controllers/disruption/controller.go. It is asked every ten seconds, and at once after a
// command; the validation of a command blocks it.
func (o *operator) disrupt(ctx context.Context) error {
	first := 0
	if proposed := o.memory.Proposal; proposed != nil {
		if o.clock.now.Before(proposed.Until) {
			o.again(proposed.Until)
			return nil
		}
		o.memory.Proposal = nil
		done, err := o.validate(ctx, proposed)
		if err != nil {
			return err
		}
		if !done {
			first = proposed.Method + 1
		}
	} else if tick := o.tick(pollingPeriod); tick.After(o.clock.now) {
		if o.state() != o.memory.Quiet {
			o.again(tick)
		}
		return nil
	} else if o.state() == o.memory.Quiet {
		return nil
	}
	const most = 1000
	for range most {
		acted, err := o.tryMethods(ctx, first)
		if errors.Is(err, errProposed) {
			o.again(o.memory.Proposal.Until)
			return nil
		}
		if err != nil {
			return err
		}
		if !acted {
			o.memory.Quiet = o.state()
			return nil
		}
		first = 0
	}
	return fmt.Errorf("karpenter's disruption loop does not come to rest: it has run %d commands at the same moment", most)
}

// state is what the disruption loop depends on.
func (o *operator) state() uint64 {
	hash := fnv.New64a()
	fmt.Fprintln(hash, o.prints.of(o.api), sorted(o.memory.Nominated), len(o.memory.Commands))
	return hash.Sum64()
}

// tryMethods tries the methods from the given one on. The first that acts ends the pass.
func (o *operator) tryMethods(ctx context.Context, first int) (bool, error) {
	o.methods = o.newMethods() // which remember nothing, such as that the cluster is consolidated
	if first == 0 {
		if err := o.cleanUp(ctx); err != nil {
			return false, err
		}
	}
	for i := first; i < len(o.methods); i++ {
		method := o.methods[i]
		candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, o.cluster, o.api, o.recorder, o.clock, o.provider, method.ShouldDisrupt, method.Class(), o.queue, o.cost)
		if err != nil {
			return false, err
		}
		if len(candidates) == 0 {
			continue
		}
		o.shuffle(candidates)
		if setter, ok := method.(disruption.NodePoolTotalsSetter); ok {
			setter.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, o.cluster, o.clock, o.api, o.provider, o.recorder, method.Reason())
		if err != nil {
			return false, err
		}
		for _, candidate := range candidates {
			if budgets[candidate.NodePool.Name] == 0 {
				o.againByBudget(candidate.NodePool)
			}
		}
		commands, err := method.ComputeCommands(ctx, budgets, candidates...)
		if err != nil {
			return false, err
		}
		acted := false
		for _, cmd := range commands {
			if cmd.Decision() != disruption.NoOpDecision {
				if err := o.start(ctx, i, cmd); err != nil {
					o.failed(err)
					continue
				}
				acted = true
			}
		}
		if acted {
			return true, o.reconcile(ctx)
		}
	}
	return false, nil
}

// cleanUp takes back the marks of nodes that no command disrupts.
func (o *operator) cleanUp(ctx context.Context) error {
	nodes := o.cluster.DeepCopyNodes()
	slices.SortFunc(nodes, func(a, b *state.StateNode) int { return cmp.Compare(a.ProviderID(), b.ProviderID()) })
	for _, node := range nodes {
		if o.queue.HasAny(node.ProviderID()) || node.MarkedForDeletion() {
			continue
		}
		if err := state.RequireNoScheduleTaint(ctx, o.api, false, node); err != nil {
			return err
		}
		if err := state.ClearNodeClaimsCondition(ctx, o.api, o.clock, v1.ConditionTypeDisruptionReason, node); err != nil {
			return err
		}
	}
	return nil
}

// shuffle draws the order of the candidates, which Karpenter takes from a map. Its methods sort them; equal ones stay as they are drawn.
func (o *operator) shuffle(candidates []*disruption.Candidate) {
	slices.SortFunc(candidates, func(a, b *disruption.Candidate) int { return cmp.Compare(a.Name(), b.Name()) })
	o.chance.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
}

// start starts a command.
func (o *operator) start(ctx context.Context, method int, cmd disruption.Command) error {
	cmd.Method = o.methods[method]
	cmd.CreationTimestamp = o.clock.now
	o.memory.Names++
	cmd.ID = uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%d %d", o.seed, o.memory.Names))
	savings := fmt.Sprintf("%s: saves $%.4f an hour", cmd.Reason(), cmd.EstimatedSavings())
	if err := o.queue.StartCommand(api.WithWhy(ctx, savings), &cmd); err != nil {
		return err
	}
	o.nominated(ctx, cmd.Results)
	o.memory.Commands = append(o.memory.Commands, command{
		Method: method, ID: cmd.ID.String(), Created: cmd.CreationTimestamp, Why: savings,
		NodeClaims:   lo.Map(cmd.Candidates, func(c *disruption.Candidate, _ int) string { return c.NodeClaim.Name }),
		Replacements: lo.Map(cmd.Replacements, func(r *disruption.Replacement, _ int) string { return r.Name }),
	})
	return o.reconcile(ctx)
}

// validate validates a command that was computed 15 seconds ago, by Karpenter's own validator, and starts it if it still stands.
func (o *operator) validate(ctx context.Context, proposed *proposal) (bool, error) {
	method := o.methods[proposed.Method]
	byName := map[string]*cloudprovider.InstanceType{}
	for _, instanceType := range slices.Concat(o.cloud.types, o.cloud.shapes) {
		byName[instanceType.Name] = instanceType
	}
	// The validator reads the names of the candidates and the types of the replacement, and takes all else from the cluster as it is now.
	cmd := disruption.Command{Method: method, Candidates: lo.Map(proposed.Nodes, func(name string, _ int) *disruption.Candidate {
		return &disruption.Candidate{StateNode: &state.StateNode{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}}
	})}
	if len(proposed.Replacement) > 0 {
		claim := &scheduling.NodeClaim{}
		for _, name := range proposed.Replacement {
			claim.InstanceTypeOptions = append(claim.InstanceTypeOptions, byName[name])
		}
		cmd.Replacements = []*disruption.Replacement{{NodeClaim: claim}}
	}
	cmd, err := o.validator(proposed.Method).Validate(ctx, cmd, 0)
	if err == nil {
		cmd, err = o.rebuild(ctx, cmd, proposed)
	}
	if disruption.IsValidationError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, o.start(ctx, proposed.Method, cmd)
}

// rebuild makes the command anew from the cluster as it is, which the validator found to be as it was.
func (o *operator) rebuild(ctx context.Context, valid disruption.Command, proposed *proposal) (disruption.Command, error) {
	method := o.methods[proposed.Method]
	candidates, err := disruption.GetCandidates(ctx, o.cluster, o.api, o.recorder, o.clock, o.provider, method.ShouldDisrupt, method.Class(), o.queue)
	if err != nil {
		return disruption.Command{}, err
	}
	names := lo.Map(valid.Candidates, func(c *disruption.Candidate, _ int) string { return c.Name() })
	cmd := disruption.Command{Method: method}
	for _, name := range proposed.Nodes {
		if candidate, ok := lo.Find(candidates, func(c *disruption.Candidate) bool { return c.Name() == name && slices.Contains(names, name) }); ok {
			cmd.Candidates = append(cmd.Candidates, candidate)
		}
	}
	if proposed.Method == emptiness {
		return cmd, nil
	}
	cmd.Results, err = disruption.SimulateScheduling(ctx, o.api, o.cluster, o.provisioner, o.clock, o.recorder, []scheduling.Options{scheduling.IsConsolidationSimulation}, cmd.Candidates...)
	if err != nil || len(proposed.Replacement) == 0 {
		return cmd, err
	}
	if len(cmd.Results.NewNodeClaims) != 1 {
		return cmd, disruption.NewValidationError(errors.New("scheduling simulation produced new results"))
	}
	claim := cmd.Results.NewNodeClaims[0]
	claim.InstanceTypeOptions = lo.Filter(claim.InstanceTypeOptions, func(t *cloudprovider.InstanceType, _ int) bool {
		return slices.Contains(proposed.Replacement, t.Name)
	})
	slices.SortStableFunc(claim.InstanceTypeOptions, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Compare(slices.Index(proposed.Replacement, a.Name), slices.Index(proposed.Replacement, b.Name))
	})
	if len(proposed.CapacityTypes) > 0 {
		claim.Requirements.Add(karpenterscheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, proposed.CapacityTypes...))
	}
	cmd.Replacements = []*disruption.Replacement{{NodeClaim: claim}}
	return cmd, nil
}

// restoreCommands puts the commands of the memory into the queue.
func (o *operator) restoreCommands() {
	nodes := map[string]*state.StateNode{} // by NodeClaim
	for node := range o.cluster.Nodes() {
		if node.NodeClaim != nil {
			nodes[node.NodeClaim.Name] = node
		}
	}
	var marked []string
	for _, remembered := range o.memory.Commands {
		cmd := &disruption.Command{Method: o.methods[remembered.Method], CreationTimestamp: remembered.Created, ID: uuid.MustParse(remembered.ID)}
		for _, name := range remembered.NodeClaims {
			node, ok := nodes[name]
			if !ok || node.Node == nil {
				continue
			}
			pool := &v1.NodePool{}
			_ = o.api.Get(context.Background(), client.ObjectKey{Name: node.Labels()[v1.NodePoolLabelKey]}, pool)
			cmd.Candidates = append(cmd.Candidates, &disruption.Candidate{StateNode: node.DeepCopy(), NodePool: pool})
		}
		for _, name := range remembered.Replacements {
			cmd.Replacements = append(cmd.Replacements, &disruption.Replacement{Name: name, NodeClaim: &scheduling.NodeClaim{
				NodeClaimTemplate: scheduling.NodeClaimTemplate{Requirements: karpenterscheduling.NewRequirements()},
			}})
		}
		for _, candidate := range cmd.Candidates {
			o.queue.ProviderIDToCommand[candidate.ProviderID()] = cmd
			marked = append(marked, candidate.ProviderID())
		}
	}
	o.cluster.MarkForDeletion(marked...)
}

// execute goes on with the commands of the queue: when the replacements are initialized, the disrupted NodeClaims are deleted.
func (o *operator) execute(ctx context.Context) error {
	var rest []command
	for _, remembered := range o.memory.Commands {
		cmd, ok := lo.Find(o.queue.GetCommands(), func(c *disruption.Command) bool { return c.ID.String() == remembered.ID })
		if !ok || len(cmd.Candidates) == 0 {
			continue
		}
		claim := cmd.Candidates[0].NodeClaim
		if _, err := o.queue.Reconcile(api.WithWhy(ctx, remembered.Why), claim); err != nil {
			o.failed(err)
		}
		if o.queue.HasAny(claim.Status.ProviderID) {
			rest = append(rest, remembered)
			o.again(remembered.Created.Add(o.queue.GetMaxRetryDuration() + time.Second))
		}
	}
	o.memory.Commands = rest
	return o.reconcile(ctx)
}

// againByBudget asks again when a budget with a schedule begins or ends.
func (o *operator) againByBudget(pool *v1.NodePool) {
	for _, budget := range pool.Spec.Disruption.Budgets {
		if budget.Schedule == nil {
			continue
		}
		schedule, err := cron.ParseStandard("TZ=UTC " + *budget.Schedule)
		if err != nil {
			continue
		}
		o.again(schedule.Next(o.clock.now))
		if budget.Duration != nil {
			o.again(schedule.Next(o.clock.now.Add(-budget.Duration.Duration)).Add(budget.Duration.Duration + time.Second))
		}
	}
}
