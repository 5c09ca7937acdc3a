package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
)

// maxDecisions limits how often a decider acts in a step without coming to rest.
const maxDecisions = 500

// Decider says which program decides in a cluster, and from which step on; "" is the start.
type Decider struct {
	decider.Command
	From string
}

// actor is a decider of the cluster. Its program starts when it is first asked.
type actor struct {
	Decider
	program *decider.Program
	// deciding: it is asked right now, and admits by itself what it creates.
	deciding bool
	actorMark
}

// actorMark is what a decider remembers, and whether it decides already.
type actorMark struct {
	memory json.RawMessage
	began  bool
}

// Act is what a decider did.
type Act struct {
	Decider string      `json:"decider"`
	At      metav1.Time `json:"at"`
	// Round counts the moments of the step at which the decider acts, from 1.
	Round int `json:"round"`
	// Verb is create, patch, delete or evict.
	Verb   string      `json:"verb"`
	Object cluster.Ref `json:"object"`
	// Owner is the outermost owner of an evicted pod, and Node the node that it was on. To is the node of the pod that replaced it; empty if
	// there is none, or if it has no node. A controller that makes up the names of its pods does not say which pod replaces which: the
	// first new pod then replaces the pod that was evicted first.
	Owner cluster.Ref `json:"owner,omitzero"`
	Node  string      `json:"node,omitempty"`
	To    string      `json:"to,omitempty"`
	// Price is what a Node that is created or deleted costs an hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
	// Why is the decider's reason.
	Why string `json:"why,omitempty"`
	// Refused is the API server's answer if it refused.
	Refused string `json:"refused,omitempty"`
}

// ActEvent is an event that a decider reported.
type ActEvent struct {
	Decider string      `json:"decider"`
	At      metav1.Time `json:"at"`
	Object  cluster.Ref `json:"object"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
}

// SetDeciders gives the cluster programs that decide beside the scheduler. They are asked in this order when nothing else moves.
func (c *Cluster) SetDeciders(deciders []Decider) {
	if c.engine == nil {
		return
	}
	for _, d := range deciders {
		c.actors = append(c.actors, &actor{Decider: d, actorMark: actorMark{began: d.From == ""}})
	}
}

// beginDeciders lets the deciders begin that decide from the step on.
func (c *Cluster) beginDeciders(step string) {
	for _, a := range c.actors {
		a.began = a.began || a.From == step
	}
}

// start starts the decider's program unless it runs.
func (a *actor) start(c *Cluster) (err error) {
	if a.program == nil {
		a.program, err = decider.Start(a.Command, c.config.Release().String())
	}
	return err
}

// followEvicted notes the nodes of the pods that replace evicted ones.
func (r *Record) followEvicted(owner func(*v1.Pod) cluster.Ref, placed []placement.Placement) {
	for _, p := range placed {
		of := owner(p.Pod)
		if i := slices.IndexFunc(r.Acts, func(a Act) bool { return a.Verb == "evict" && a.Refused == "" && a.To == "" && a.Owner == of }); i >= 0 {
			r.Acts[i].To = p.Node
		}
	}
}

// askDeciders asks the deciders what to do in a cluster in which nothing else moves. It returns the same state if nothing changes now, and the
// time to ask again; the zero time means that only another change makes it worth asking.
func (c *Cluster) askDeciders(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, time.Time, error) {
	var again time.Time
	if len(c.actors) > 0 {
		var by *scenario.Autoscaler
		if c.scaler != nil {
			by = c.scaler.Autoscaler
		}
		to.Moments = appendMoment(to.Moments, state, len(to.Pending), by)
	}
	for i, a := range c.actors {
		for len(to.moments) <= i {
			to.moments = append(to.moments, moments{seen: map[signature]moment{}})
		}
		if to.moments[i].rests || !a.began {
			continue
		}
		before, memory := len(to.Acts), a.memory
		next, answer, err := c.ask(ctx, a, to.moments[i].rounds+1, state, to)
		if err != nil {
			return nil, time.Time{}, err
		}
		if len(to.Acts) > before {
			to.moments[i].rounds++
			now := signState(state)
			if last, seen := to.moments[i].seen[now]; seen {
				to.Cycles = append(to.Cycles, Cycle{Decider: a.Name, EverySeconds: state.Now.Sub(last.at).Seconds(), Acts: actsOf(to.Acts[last.acts:before], a.Name)})
				to.moments[i].rests = true
				// The round is not begun anew: the cluster stays as it was before it.
				to.Acts, to.moments[i].rounds = to.Acts[:before], to.moments[i].rounds-1
				a.memory = memory
				a.program.TakeBack(next)
				continue
			}
			to.moments[i].seen[now] = moment{state.Now.Time, before}
			if to.moments[i].rounds > maxDecisions {
				to.Notes = append(to.Notes, fmt.Sprintf("%s still acted after %d decisions, and is not asked again in this step", a.Name, maxDecisions))
				to.moments[i].rests = true
			}
		}
		if next != state {
			return next, time.Time{}, nil
		}
		again = earlier(again, answer.Again)
	}
	return state, again, nil
}

func actsOf(acts []Act, name string) []Act {
	return slices.DeleteFunc(slices.Clone(acts), func(a Act) bool { return a.Decider != name })
}

// ask asks one decider, and does what it wants. It returns the same state if the decider changed nothing.
func (c *Cluster) ask(ctx context.Context, a *actor, round int, state *cluster.State, to *Record) (*cluster.State, *decider.Answer, error) {
	if err := a.start(c); err != nil {
		return nil, nil, err
	}
	if err := a.program.Tell(ctx, state, to.Pending); err != nil {
		return nil, nil, err
	}
	calls := &deciderCalls{Cluster: c, actor: a, round: round, state: state, to: to, owner: state.Owners()}
	a.deciding = true
	defer func() { a.deciding = false }()
	answer, err := a.program.Decide(ctx, state.Now, c.ties.Seed, a.memory, calls.do)
	if err != nil {
		return nil, nil, err
	}
	a.memory = answer.Memory
	for _, e := range answer.Events {
		event := ActEvent{a.Name, state.Now, cluster.Ref{Kind: e.Object.Kind, Namespace: e.Object.Namespace, Name: e.Object.Name}, e.Reason, e.Message}
		to.Events = slices.DeleteFunc(to.Events, func(other ActEvent) bool {
			return other.Object == event.Object && other.Reason == event.Reason && other.Decider == event.Decider
		})
		to.Events = append(to.Events, event)
	}
	return calls.state, answer, nil
}

// admitByDeciders lets the deciders set the defaults of their own resources among the objects, and change new objects of the kinds of their
// webhooks. The error has a line for each thing that is wrong with an object, and its name; the objects are then there, too.
func (c *Cluster) admitByDeciders(state *cluster.State, objects []cluster.Object) ([]cluster.Object, error) {
	admitted := slices.Clone(objects)
	var wrong []error
	for _, a := range c.actors {
		if a.deciding {
			continue
		}
		if err := a.start(c); err != nil {
			return nil, err
		}
		var admits []cluster.Object
		var at []int
		for i, obj := range admitted {
			if a.program.Admits(obj) && (isCustom(obj) || state.Find(cluster.RefTo(obj)) == nil) {
				admits, at = append(admits, obj), append(at, i)
			}
		}
		if len(admits) == 0 {
			continue
		}
		defaulted, problems, err := a.program.Admit(context.Background(), admits)
		for i := range problems {
			wrong = append(wrong, errors.New(problems[i].Describe(admits[problems[i].Index])))
		}
		if err != nil {
			return nil, err
		}
		for i, obj := range defaulted {
			admitted[at[i]] = obj
		}
	}
	return admitted, errors.Join(wrong...)
}

// newAtStart returns the objects of a cluster that deciders admit when it starts: their own resources, Jobs, and the pods that have no node. All
// others were admitted when they were created.
func newAtStart(state *cluster.State) []cluster.Object {
	var objects []cluster.Object
	for _, r := range state.CustomResources {
		objects = append(objects, r)
	}
	for _, job := range state.Jobs {
		objects = append(objects, job)
	}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" {
			objects = append(objects, pod)
		}
	}
	return objects
}

// closeDeciders ends the deciders' programs.
func (c *Cluster) closeDeciders() {
	for _, a := range c.actors {
		if a.program != nil {
			a.program.Close()
		}
	}
}

// earlier returns the earlier of two times, of which a zero one counts for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
