package autoscaler_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// world is a small cluster with the options of the autoscaler, as the autoscaler itself got them.
type world struct {
	Name       string
	Kind       string // scale-up, loops or scale-down
	Options    map[string]string
	NodeGroups []struct {
		Name     string
		Min, Max int
		Nodes    []string
		Target   *int
		Template *v1.Node
	}
	Objects []json.RawMessage
}

// answer has the decisions about a world, as series of loops.
type answer struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"`
	Loops    []*loop `json:"loops,omitempty"`
	Upcoming []*loop `json:"upcoming,omitempty"`
	Ready    []*loop `json:"ready,omitempty"`
}

type loop struct {
	At          int                    `json:"at"`
	Fit         map[string]string      `json:"fit,omitempty"`
	Help        []string               `json:"help,omitempty"`
	Options     []option               `json:"options,omitempty"`
	Chain       []string               `json:"chain,omitempty"`
	ScaleUp     string                 `json:"scaleUp"`
	Plan        []resize               `json:"plan,omitempty"`
	Sizes       map[string]int         `json:"sizes,omitempty"`
	Helped      []string               `json:"helped,omitempty"`
	Await       []string               `json:"await,omitempty"`
	Refused     map[string]refused     `json:"refused,omitempty"`
	Events      []event                `json:"events,omitempty"`
	ScaleDown   string                 `json:"scaleDown,omitempty"`
	Candidates  []string               `json:"candidates,omitempty"`
	Utilization map[string]utilization `json:"utilization,omitempty"`
	Unneeded    []string               `json:"unneeded,omitempty"`
	Unremovable map[string]unremovable `json:"unremovable,omitempty"`
	Removable   []removal              `json:"removable,omitempty"`
	Deleted     []removal              `json:"deleted,omitempty"`
	Status      string                 `json:"status,omitempty"`
}

type option struct {
	Group   string   `json:"group"`
	Nodes   int      `json:"nodes"`
	Pods    []string `json:"pods"`
	Similar []string `json:"similar,omitempty"`
}

type resize struct {
	Group string `json:"group"`
	From  int    `json:"from"`
	To    int    `json:"to"`
}

type refused struct {
	Rejected map[string][]string `json:"rejected,omitempty"`
	Skipped  map[string][]string `json:"skipped,omitempty"`
}

type event struct {
	Objects []string `json:"objects,omitempty"`
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
}

type utilization struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

type unremovable struct {
	Reason    string `json:"reason"`
	Pod       string `json:"pod,omitempty"`
	PodReason string `json:"podReason,omitempty"`
}

type removal struct {
	Node  string   `json:"node"`
	Pods  []string `json:"pods,omitempty"`
	Risky bool     `json:"risky,omitempty"`
}

var start = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

// solve asks the autoscaler about the world.
func solve(t *testing.T, w *world) *answer {
	t.Helper()
	a := &answer{Name: w.Name, Kind: w.Kind}
	switch w.Kind {
	case "scale-up":
		a.Loops = newCourse(t, w).run(func(c *course, _ *loop) bool { return false })
	case "loops":
		grew := func(c *course, last *loop) bool {
			c.after(10 * time.Second)
			return last.Plan != nil
		}
		a.Upcoming = newCourse(t, w).run(grew)
		a.Ready = newCourse(t, w).run(func(c *course, last *loop) bool {
			if !grew(c, last) {
				return false
			}
			c.after(2 * time.Minute) // until the nodes are there
			c.addNodes()
			return true
		})
	case "scale-down":
		wait, err := time.ParseDuration(cmp.Or(w.Options["oracle-wait"], "601s"))
		if err != nil {
			t.Fatal(err)
		}
		a.Loops = newCourse(t, w).run(func(c *course, _ *loop) bool {
			c.after(wait)
			return c.state.Now.Sub(start.Time) == wait
		})
	}
	return a
}

// course is a world during a series of loops.
type course struct {
	t      *testing.T
	scaler *autoscaler.Autoscaler
	state  *cluster.State
	groups []autoscaler.Group
}

func newCourse(t *testing.T, w *world) *course {
	t.Helper()
	c := &course{t: t, state: &cluster.State{Now: start}}
	for _, namespace := range []string{"default", "kube-system"} {
		c.state = c.state.With(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	var options autoscaler.Options
	flags := options.Flags()
	for name, value := range w.Options {
		if name == "oracle-wait" {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			t.Fatalf("%s: --%s: %v", w.Name, name, err)
		}
	}
	for _, raw := range w.Objects {
		obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		if config, is := obj.(*v1.ConfigMap); is {
			// The autoscaler ignores priorities that it cannot parse.
			var written map[int][]string
			if yaml.Unmarshal([]byte(config.Data["priorities"]), &written) == nil {
				options.Priorities, _ = autoscaler.CompilePriorities(written)
			}
			continue
		}
		given := obj.(cluster.Object)
		given.SetUID(types.UID(cmp.Or(string(given.GetUID()), fmt.Sprintf("%s/%s/%s", kind.Kind, given.GetNamespace(), given.GetName()))))
		if created := given.GetCreationTimestamp(); created.IsZero() {
			given.SetCreationTimestamp(metav1.NewTime(start.Add(-24 * time.Hour)))
		}
		switch o := obj.(type) {
		case *v1.Node:
			for i := range o.Status.Conditions {
				if at := &o.Status.Conditions[i].LastTransitionTime; at.IsZero() {
					*at = metav1.NewTime(start.Add(-23 * time.Hour))
				}
			}
		case *v1.Pod:
			if o.Spec.NodeName != "" && o.Status.Phase == "" {
				o.Status.Phase = v1.PodRunning
			}
		}
		c.state = c.state.With(given)
	}
	for _, given := range w.NodeGroups {
		group := autoscaler.Group{Name: given.Name, Min: given.Min, Max: given.Max, Nodes: given.Nodes, Target: len(given.Nodes), Template: given.Template}
		if given.Target != nil {
			group.Target = *given.Target
		}
		c.groups = append(c.groups, group)
	}
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	if c.scaler, err = autoscaler.New(config, options, sched.Ties{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// run repeats loops and carries their decisions out, for as long as the function returns true.
func (c *course) run(more func(*course, *loop) bool) []*loop {
	c.t.Helper()
	defer c.scaler.Close()
	var loops []*loop
	for {
		var pending []*v1.Pod
		for _, pod := range c.state.Pods {
			if cluster.IsUnscheduled(pod) && len(pod.Spec.SchedulingGates) == 0 && pod.Status.NominatedNodeName == "" && pod.DeletionTimestamp == nil {
				pending = append(pending, pod)
			}
		}
		decision, err := c.scaler.Loop(context.Background(), c.state, c.groups, pending)
		if err != nil {
			c.t.Fatal(err)
		}
		for i := range c.groups {
			c.groups[i].Target = decision.Targets[c.groups[i].Name]
		}
		loops = append(loops, written(decision, int(c.state.Now.Sub(start.Time).Seconds())))
		if !more(c, loops[len(loops)-1]) {
			return loops
		}
	}
}

func (c *course) after(wait time.Duration) {
	next := *c.state
	next.Now = metav1.NewTime(c.state.Now.Add(wait))
	c.state = &next
}

// addNodes adds the nodes that the groups lack of their targets, ready and with the pods of DaemonSets. A group may have lacked some from the start.
func (c *course) addNodes() {
	for i := range c.groups {
		group := &c.groups[i]
		for len(group.Nodes) < group.Target {
			from := group.Template
			if from == nil {
				from = c.state.Node(group.Nodes[0])
			}
			node := from.DeepCopy()
			node.Name = fmt.Sprintf("%s-new-%d", group.Name, len(group.Nodes))
			node.CreationTimestamp = c.state.Now
			metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelHostname, node.Name)
			node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastTransitionTime: c.state.Now}}
			group.Nodes = append(group.Nodes, node.Name)
			c.state = c.state.With(node)
			for _, ds := range c.state.DaemonSets {
				if should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds); should {
					pod := daemon.NewPod(ds, node.Name)
					pod.Name, pod.UID, pod.Status.Phase = ds.Name+"-"+node.Name, types.UID(ds.Name+node.Name), v1.PodRunning
					pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
					c.state = c.state.With(pod)
				}
			}
		}
	}
}

// written returns the decision in the form of the recorded ones.
func written(d *autoscaler.Decision, at int) *loop {
	l := &loop{At: at, Help: names(d.Help), Chain: d.Left, ScaleUp: string(d.ScaleUp), Sizes: d.Targets, Helped: sorted(d.Helped), Await: sorted(d.Await),
		ScaleDown: string(d.ScaleDown), Candidates: d.Candidates, Unneeded: d.Unneeded, Status: d.Status(), Fit: map[string]string{},
		Refused: map[string]refused{}, Utilization: map[string]utilization{}, Unremovable: map[string]unremovable{}}
	for pod, node := range d.Fit {
		l.Fit[pod.Name] = node
	}
	for _, o := range d.Options {
		l.Options = append(l.Options, option{o.Group, o.Nodes, sorted(o.Pods), o.Similar})
	}
	for _, p := range d.Plan {
		l.Plan = append(l.Plan, resize{p.Group, p.From, p.To})
	}
	for _, r := range d.Refused {
		l.Refused[r.Pod.Name] = refused{r.Rejected, r.Skipped}
	}
	round := func(share float64) float64 { return math.Round(share*1e6) / 1e6 }
	for node, used := range d.Utilization {
		l.Utilization[node] = utilization{round(used.CPU), round(used.Memory)}
	}
	for node, u := range d.Unremovable {
		why := unremovable{Reason: u.Reason, PodReason: u.PodReason}
		if u.Pod != nil {
			why.Pod = u.Pod.Name
		}
		l.Unremovable[node] = why
	}
	for _, list := range []struct {
		from []autoscaler.Removal
		to   *[]removal
	}{{d.Removable, &l.Removable}, {d.Deleted, &l.Deleted}} {
		for _, r := range list.from {
			*list.to = append(*list.to, removal{r.Node, sorted(r.Pods), r.Risky})
		}
		slices.SortFunc(*list.to, func(a, b removal) int { return cmp.Compare(a.Node, b.Node) })
	}
	l.Events = collected(d.Events)
	return l
}

// collected joins events that differ only in their objects, and sorts them.
func collected(events []autoscaler.Event) []event {
	about := map[[2]string][]string{}
	for _, e := range events {
		key := [2]string{e.Reason, e.Message}
		switch {
		case e.Pod != nil:
			about[key] = append(about[key], e.Pod.Name)
		case e.Node != "":
			about[key] = append(about[key], e.Node)
		default:
			about[key] = append(about[key], []string{}...)
		}
	}
	var all []event
	for key, objects := range about {
		all = append(all, event{slices.Sorted(slices.Values(objects)), key[0], key[1]})
	}
	slices.SortFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return all
}

func names(pods []*v1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

func sorted(pods []*v1.Pod) []string { return slices.Sorted(slices.Values(names(pods))) }

// keysOf returns the keys, sorted.
func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
