package explain

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Changes with which the API server takes pods that it refuses: of the ResourceQuota, the LimitRange or the namespace, or of the workload.

// FixRefused adds to what the API server did not take the changes with which it takes the pods, and those that were tried and do not help. Each
// was applied to the cluster as it is after the step, as Fixes does. A change is a fix if afterwards no pod of the workload is refused, no more of
// others are, and every pod that ran still runs, or its replacement does. The pods can then be Pending; the fix says how many are.
//
// Of a bare pod, and of an object that a user created, there are none: nobody asks the API server for these again.
func FixRefused(ctx context.Context, result *simulation.Result, refused []NotMade, opts Options) error {
	for i := range refused {
		r := &refused[i]
		at := slices.IndexFunc(result.Steps, func(s simulation.Step) bool { return s.Name == r.Step })
		if !r.OfWorkload() || !r.Retried || len(r.Causes) == 0 || at < 0 || result.Steps[at].State.Federation != nil {
			continue
		}
		upTo := *result
		upTo.Scenario, upTo.Steps = result.Scenario.CutAfter(r.Step), result.Steps[:at+1]
		if err := r.fix(ctx, &upTo, opts); err != nil {
			return err
		}
	}
	return nil
}

// fix adds the changes, after the last step.
func (r *NotMade) fix(ctx context.Context, result *simulation.Result, opts Options) error {
	course, err := simulation.NewCourse(result)
	if err != nil {
		return err
	}
	defer course.Close()
	d := &deniedWorkload{stuckWorkload: newStuckWorkload(course, result.Last(), r.Ref), refused: r}
	d.helps = d.helpsWorkload
	s := search{opts: opts}
	err = s.try(ctx, d.singles())
	r.Fixes, r.Tried = s.sorted(), s.tried
	return err
}

// deniedWorkload is a workload of which the API server refuses pods.
type deniedWorkload struct {
	*stuckWorkload
	refused *NotMade
}

// helpsWorkload returns the change as a fix if the API server then takes all pods of the workload.
func (d *deniedWorkload) helpsWorkload(_ context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
	state, last := d.course.State(), d.course.Last()
	after := state.PodsByWorkload()
	own, was := after[d.owner], d.crewsBefore[d.owner]
	mine, others := d.refusedIn(last.Refused)
	_, othersBefore := d.refusedIn(d.step.Refused)
	lost := was.CountLost(d.owner, own) > max(0, len(was.Placed)-replicasOf(state, d.owner))
	if displaced := d.displaced(after); mine > 0 || others > othersBefore || lost || len(displaced) > 0 {
		return nil, nil
	}
	price := slices.Concat(c.price, d.operatorPrice(c), d.evictionPrice(nil), d.replacementPrice(c, own))
	if more := len(own.Waiting) - len(was.Waiting); more > 0 {
		price = append(price, words.Count(more, "pod")+" of it then "+words.Pick(more, "has", "have")+" no node")
	}
	return &Fix{Change: d.describeChange(c), Price: price, Commands: action.Commands(stepsOf(steps)), Steps: encodeSteps(steps), Pending: len(last.Pending), OfWorkload: len(own.Waiting)}, nil
}

// refusedIn is how many pods of the workload are refused, and how many of others.
func (d *deniedWorkload) refusedIn(refused []cluster.Refusal) (mine, others int) {
	for _, r := range refused {
		if r.Ref == d.owner {
			mine += r.Pods
		} else {
			others += r.Pods
		}
	}
	return mine, others
}

// singles are the changes in the order in which they are tried: of the rollout, of the workload's pods where they break a bound, of the object that
// refuses, of what the pods ask for, and fewer replicas.
func (d *deniedWorkload) singles() []attempt {
	var all []attempt
	all = append(all, d.attemptFirst(d.rollout())...)
	for i := range d.refused.Causes {
		denial := d.refused.Causes[i].Denial
		if denial == nil {
			continue
		}
		switch d.refused.Causes[i].Plugin {
		case "ResourceQuota":
			all = slices.Concat(all, d.raiseQuota(denial), d.askLess(denial), d.giveRequests(denial), d.deleteUnusedClaims(denial))
		case "LimitRanger":
			all = slices.Concat(all, d.keepBounds(denial), d.keepRatio(denial), d.moveBounds(denial))
		case "PodSecurity":
			all = append(append(all, d.restrict()), d.relabel()...)
		case "Priority":
			all = slices.Concat(all, d.nameClass(denial))
		case "ServiceAccount":
			all = append(all, d.createAccount(denial))
		}
	}
	replicas, _ := cluster.Replicas(d.object)
	return append(all, d.fewer(int(replicas)-1)...)
}

// rollout are the strategies that stop old pods before new ones start, while pods of another ReplicaSet run than that whose pods are refused.
func (d *deniedWorkload) rollout() []candidate {
	old := slices.ContainsFunc(podsOf(d.step.State)[d.owner], func(pod *v1.Pod) bool {
		of := metav1.GetControllerOfNoCopy(pod)
		return of != nil && pod.Spec.NodeName != "" && !strings.Contains(d.refused.Message, fmt.Sprintf("%q", of.Name+"-"))
	})
	if d.owner.Kind != "Deployment" || d.object == nil || !old {
		return nil
	}
	return d.strategyCandidates()
}

// raiseQuota raises what the quota allows by what the refused pods lack or, if the controller then asks for others, for as many as all replicas are.
func (d *deniedWorkload) raiseQuota(denial *cause.Denial) []attempt {
	pods, _ := d.refusedIn(d.step.Refused)
	replicas, _ := cluster.Replicas(d.object)
	var all []candidate
	for _, n := range slices.Compact([]int{pods, max(pods, int(replicas))}) {
		hard := map[string]any{}
		var parts []string
		for _, a := range denial.Amounts {
			asked, err1 := resource.ParseQuantity(a.Asked)
			used, err2 := resource.ParseQuantity(a.Used)
			now, err3 := resource.ParseQuantity(a.Hard)
			if err1 != nil || err2 != nil || err3 != nil || !asked.Mul(int64(n)) {
				return nil
			}
			used.Add(asked)
			if used.Cmp(now) <= 0 {
				continue
			}
			more := used.DeepCopy()
			more.Sub(now)
			hard[string(a.Resource)] = used.String()
			parts = append(parts, fmt.Sprintf("%s by %s, to %s (now %s)", a.Resource, more.String(), used.String(), a.Hard))
		}
		if len(hard) > 0 {
			all = append(all, candidate{change: "raise " + denial.Object + ": " + words.And(parts),
				steps: []scenario.Step{merged(denial.Object, map[string]any{"spec": map[string]any{"hard": hard}})}})
		}
	}
	return d.attemptFirst(all)
}

// deleteUnusedClaims returns the attempt that deletes a claim of the namespace that no pod has, if the quota lacks storage or claims. It tries a few, the
// largest first.
func (d *deniedWorkload) deleteUnusedClaims(denial *cause.Denial) []attempt {
	if !slices.ContainsFunc(denial.Amounts, func(a cause.Amount) bool {
		return a.Resource == v1.ResourcePersistentVolumeClaims || strings.HasSuffix(string(a.Resource), string(v1.ResourceRequestsStorage))
	}) {
		return nil
	}
	used := map[string]bool{}
	for _, pod := range d.step.State.Pods {
		if pod.Namespace == d.owner.Namespace {
			for _, name := range cluster.ClaimNames(pod) {
				used[name] = true
			}
		}
	}
	unused := list.Where(d.step.State.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
		return claim.Namespace == d.owner.Namespace && !used[claim.Name] && claim.DeletionTimestamp == nil
	})
	slices.SortStableFunc(unused, func(a, b *v1.PersistentVolumeClaim) int {
		return b.Spec.Resources.Requests.Storage().Cmp(*a.Spec.Resources.Requests.Storage())
	})
	return d.attemptFirst(list.Map(unused[:min(len(unused), maxPerDomain)], func(claim *v1.PersistentVolumeClaim) candidate {
		return candidate{change: fmt.Sprintf("delete claim %s of %s, which no pod has", claim.Name, claim.Spec.Resources.Requests.Storage()),
			price: []string{"what is on its volume is lost"}, losesData: true, steps: []scenario.Step{action.Delete(claim.Namespace, "persistentvolumeclaim/"+claim.Name)}}
	}))
}

// merged is the step that patches the object of a denial, such as "ResourceQuota team/compute".
func merged(object string, change map[string]any) scenario.Step {
	kind, name, _ := strings.Cut(object, " ")
	namespace, name, _ := strings.Cut(name, "/")
	return action.Merge(scenario.Target{Target: strings.ToLower(kind) + "/" + name, Namespace: namespace}, change)
}

// askLess finds how much each container can ask for of what the quota lacks. Where the pods that run hold the rest, they have to stop first.
func (d *deniedWorkload) askLess(denial *cause.Denial) []attempt {
	if d.spec == nil {
		return nil
	}
	var all []attempt
	for _, a := range denial.Amounts {
		name, limits := strings.CutPrefix(string(a.Resource), "limits.")
		of := v1.ResourceName(strings.TrimPrefix(name, "requests."))
		unit := unitOf(of)
		parts := d.requestingParts(of, unit)
		edit, word := lowerRequest, "request"
		if limits {
			parts, edit, word = d.limited(of), limitAtMost, "limit"
		}
		for _, part := range parts[:min(len(parts), maxPerDomain)] {
			now := unit.amount(part.now)
			if now <= part.least {
				continue
			}
			less := func(amount int64) candidate {
				quantity := unit.quantity(amount)
				return candidate{change: fmt.Sprintf("a %s of at most %s %s%s (now %s)", word, quantity.String(), of, part.name, part.now.String()),
					edit: func(spec *v1.PodSpec) { edit(part.resources(spec), of, quantity) }}
			}
			variants := []attempt{d.attemptMost(fmt.Sprintf("a lower %s of %s%s", word, of, part.name), part.least, now, less)}
			for _, strategy := range d.strategyCandidates() {
				variants = append(variants, d.attemptMost("", part.least, now, func(amount int64) candidate { return less(amount).combine(strategy) }))
			}
			all = append(all, firstOf(variants))
		}
	}
	return all
}

// firstOf returns the attempt that takes the first of several that helps. It has the words of the first.
func firstOf(attempts []attempt) attempt {
	return attempt{changes: attempts[0].changes, try: func(ctx context.Context) (*Fix, error) {
		for _, a := range attempts {
			if fix, err := a.try(ctx); fix != nil || err != nil {
				return fix, err
			}
		}
		return nil, nil
	}}
}

// limited returns the containers that limit the resource, the largest limit first.
func (d *deniedWorkload) limited(name v1.ResourceName) []requestingPart {
	var all []requestingPart
	template := d.templateSpec()
	for _, container := range d.spec.Containers {
		limit, given := container.Resources.Limits[name]
		if !given || template != nil && indexOf(template.Containers, container.Name) < 0 { // a webhook adds it, and the template cannot change it
			continue
		}
		all = append(all, requestingPart{" in container " + container.Name, func(spec *v1.PodSpec) *v1.ResourceRequirements {
			if at := indexOf(spec.Containers, container.Name); at >= 0 {
				return &spec.Containers[at].Resources
			}
			return nil
		}, limit, 1})
	}
	slices.SortStableFunc(all, func(a, b requestingPart) int { return b.now.Cmp(a.now) })
	return all
}

// limitAtMost lowers the limit if it is larger, and the request with it.
func limitAtMost(of *v1.ResourceRequirements, name v1.ResourceName, most resource.Quantity) {
	if of == nil {
		return
	}
	limit, given := of.Limits[name]
	if !given || limit.Cmp(most) <= 0 {
		return
	}
	of.Limits[name] = most
	if request, given := of.Requests[name]; given && request.Cmp(most) > 0 {
		of.Requests[name] = most
	}
}

// specified is what a quota misses: "requests.cpu for: web,proxy".
var specified = regexp.MustCompile(`([a-z0-9./-]+) for: ([a-z0-9,-]+)`)

// giveRequests gives the containers that lack a request or a limit an equal share of what is left of the quota, or lets a LimitRange do so. They get no more
// than nodes have free.
func (d *deniedWorkload) giveRequests(denial *cause.Denial) []attempt {
	missing := specified.FindAllStringSubmatch(denial.Says, -1)
	_, name, _ := strings.Cut(denial.Object, "/")
	at := slices.IndexFunc(d.step.State.ResourceQuotas, func(q *v1.ResourceQuota) bool { return q.Namespace == d.owner.Namespace && q.Name == name })
	if len(missing) == 0 || at < 0 || d.spec == nil {
		return nil
	}
	quota := d.step.State.ResourceQuotas[at]
	pods, _ := d.refusedIn(d.step.Refused)
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	occupancy, nodes := cause.NewOccupancy(d.step.State.Pods), list.Where(d.step.State.Nodes, func(node *v1.Node) bool {
		pod := &v1.Pod{Spec: *d.spec}
		return cluster.KubeletResponds(node) && cluster.Attracts(node, pod) && !cluster.Repels(node, pod)
	})
	var parts []string
	for _, m := range missing {
		containers := int64(len(strings.Split(m[2], ",")))
		left, used := quota.Spec.Hard[v1.ResourceName(m[1])].DeepCopy(), quota.Status.Used[v1.ResourceName(m[1])]
		left.Sub(used)
		of, give := v1.ResourceName(strings.TrimPrefix(m[1], "requests.")), requests
		limit, isLimit := strings.CutPrefix(m[1], "limits.")
		if isLimit {
			of, give = v1.ResourceName(limit), limits
		}
		unit := unitOf(of)
		whole := unit.amount(left)
		if rounded := unit.quantity(whole); rounded.Cmp(left) > 0 {
			whole--
		}
		each := whole / max(1, int64(pods)*containers)
		each = fitShare(each, int64(pods), containers, list.Map(nodes, func(node *v1.Node) int64 {
			return unit.amount(occupancy.MostFree(of, []*v1.Node{node}))
		}))
		share := unit.quantity(each)
		if share.Sign() <= 0 {
			return nil
		}
		give[of] = share
		parts = append(parts, fmt.Sprintf("%s of at most %s for %s", m[1], share.String(), words.And(strings.Split(m[2], ","))))
	}
	given := candidate{change: "set " + words.And(parts), edit: func(spec *v1.PodSpec) {
		for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
			for i := range containers {
				fillIn(&containers[i].Resources.Requests, requests)
				fillIn(&containers[i].Resources.Limits, limits)
			}
		}
	}}
	return []attempt{d.attemptOne(given), d.attemptOne(d.defaults(requests, limits))}
}

// fitShare halves the share of each container until as many pods fit on nodes with so much free; it returns the share if none of them ever does. A limit alone
// is the request, too.
func fitShare(share, pods, containers int64, free []int64) int64 {
	for each := share; each > 0; each /= 2 {
		fit := int64(0)
		for _, amount := range free {
			fit += amount / (each * containers)
		}
		if fit >= pods {
			return each
		}
	}
	return share
}

// fillIn adds the amounts that are not given.
func fillIn(to *v1.ResourceList, amounts v1.ResourceList) {
	for name, amount := range amounts {
		if _, given := (*to)[name]; !given {
			if *to == nil {
				*to = v1.ResourceList{}
			}
			(*to)[name] = amount
		}
	}
}
