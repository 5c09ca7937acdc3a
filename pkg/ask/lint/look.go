package lint

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/variant"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// look is what the checks look at.
type look struct {
	ctx      context.Context
	result   *simulation.Result
	nodes    []*v1.Node // every node that the scenario ever holds, as it was given
	subjects []*subject // step by step
	runs     map[string]*simulation.Step
	tries    int // how many rules were taken away, or made hard
	left     int // how many were not, since that would take too long

	chance []*simulation.Result // the same with random ties
}

// subject is something that makes pods, as a step leaves it.
type subject struct {
	owner  cluster.Ref
	step   *simulation.Step
	object cluster.Object
	// pod is one as its template makes it, and path where its spec stands in the object.
	pod  *v1.Pod
	path string
	// replicas is how many it wants; 0 where that is not in its spec, as for a DaemonSet.
	replicas int
	// calm tells that no step up to this one takes nodes away, so that where pods are says something about the rules.
	calm bool

	owned func() map[cluster.Ref][]*v1.Pod // the pods of each owner after the step
}

func newLook(ctx context.Context, result *simulation.Result) *look {
	l := &look{ctx: ctx, result: result, runs: map[string]*simulation.Step{}}
	position := map[string]int{}
	for _, node := range result.Scenario.Nodes() {
		if i, found := position[node.Name]; found {
			l.nodes[i] = node
			continue
		}
		position[node.Name] = len(l.nodes)
		l.nodes = append(l.nodes, node)
	}
	calm := true
	for i, spec := range simulation.StepsOf(result.Scenario) {
		calm = calm && spec.Fail == nil && spec.Drain == nil && spec.Cordon == nil
		l.subjects = append(l.subjects, subjectsOf(&result.Steps[i], calm)...)
	}
	return l
}

func subjectsOf(step *simulation.Step, calm bool) []*subject {
	var all []*subject
	owned := ownedPods(step)
	for _, object := range step.State.Objects() {
		spec, path := cluster.PodSpec(object)
		if spec == nil || metav1.GetControllerOfNoCopy(object) != nil || isTerminal(object) {
			continue
		}
		s := &subject{
			owner: cluster.RefTo(object),
			step:  step, object: object, path: path, calm: calm, owned: owned,
			pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Labels: cluster.PodLabels(object)}, Spec: *spec},
		}
		if replicas, ok := cluster.Replicas(object); ok {
			s.replicas = int(replicas)
		}
		all = append(all, s)
	}
	return all
}

func isTerminal(object cluster.Object) bool {
	pod, ok := object.(*v1.Pod)
	return ok && cluster.Terminal(pod)
}

// identity are the labels by which the subject's own pods are told from others: its selector's where it has one.
func (s *subject) identity() labels.Set {
	if selector := cluster.Selector(s.object); selector != nil && len(selector.MatchLabels) > 0 {
		return selector.MatchLabels
	}
	return s.pod.Labels
}

// pods are those of the subject after the step.
func (s *subject) pods() []*v1.Pod { return s.owned()[s.owner] }

// in is the subject as another step leaves it, of which only its pods are known.
func (s *subject) in(step *simulation.Step) *subject {
	return &subject{owner: s.owner, step: step, owned: ownedPods(step)}
}

// ownedPods tells the pods of each owner after the step, once it is asked.
func ownedPods(step *simulation.Step) func() map[cluster.Ref][]*v1.Pod {
	return sync.OnceValue(func() map[cluster.Ref][]*v1.Pod {
		owner, pods := step.State.Owners(), map[cluster.Ref][]*v1.Pod{}
		for _, pod := range step.State.Pods {
			if !cluster.Terminal(pod) {
				pods[owner(pod)] = append(pods[owner(pod)], pod)
			}
		}
		return pods
	})
}

func (s *subject) labels() labels.Set { return s.pod.Labels }

// field is the place in the object of what stands at the path in the pod's spec.
func (s *subject) field(path string) string { return s.path + "." + path }

// said are the subject's pods in a sentence: the pods of deployment/web (app=web).
func (s *subject) said() string {
	return fmt.Sprintf("the pods of %s (%s)", s.owner, labels.FormatLabels(s.pod.Labels))
}

// labelsField is the place in the object of its pods' labels.
func (s *subject) labelsField() string {
	return strings.TrimSuffix(s.path, "spec") + "metadata.labels"
}

// scaled tells whether an autoscaler sets the replicas.
func (s *subject) scaled() bool {
	for _, hpa := range s.step.State.HorizontalPodAutoscalers {
		ref := hpa.Spec.ScaleTargetRef
		if hpa.Namespace == s.owner.Namespace && ref.Kind == s.owner.Kind && ref.Name == s.owner.Name {
			return true
		}
	}
	return false
}

// others are what makes other pods in the same step.
func (l *look) others(s *subject) []*subject {
	return slices.DeleteFunc(slices.Clone(l.subjects), func(o *subject) bool { return o.step != s.step || o.owner == s.owner })
}

// takes are the nodes that a pod of the subject may run on as far as taints, node selector and node affinity go.
func (l *look) takes(s *subject) []*v1.Node {
	return slices.DeleteFunc(slices.Clone(l.nodes), func(node *v1.Node) bool { return repels(node, s.pod) || !attracts(node, s.pod) })
}

// repels tells whether a taint keeps the pod from the node, or that the node is cordoned.
func repels(node *v1.Node, pod *v1.Pod) bool {
	if !node.Spec.Unschedulable {
		return cluster.Repels(node, pod)
	}
	taints := append(slices.Clone(node.Spec.Taints), v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	return cluster.Repels(&v1.Node{Spec: v1.NodeSpec{Taints: taints}}, pod)
}

// attracts tells whether the pod's node selector and required node affinity match the node.
func attracts(node *v1.Node, pod *v1.Pod) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

// domainsOf are the domains of the nodes.
func domainsOf(nodes []*v1.Node, key string) int {
	domains, _ := topology.Domains(nodes, key)
	return len(domains)
}

// with returns the last step of the scenario, up to the subject's, with a step after it. It is run once.
func (l *look) with(s *subject, further scenario.Step) (*simulation.Step, error) {
	return l.last("then "+further.Name+" "+s.version(), l.result.Scenario.Until(s.step.Name).Then(further))
}

// mostTries is how many rules are edited in turn, and mostNodes in how large a cluster: each is another run.
const (
	mostTries = 40
	mostNodes = 1000
)

// edited returns the subject's step had its pods always had another spec; nil where that would take too long.
func (l *look) edited(s *subject, key string, edit func(*v1.PodSpec)) (*simulation.Step, error) {
	key += " " + s.version()
	if l.runs[key] == nil {
		if l.tries == mostTries || len(l.nodes) > mostNodes {
			l.left++
			return nil, nil
		}
		l.tries++
	}
	return l.last(key, variant.Edit(l.result.Scenario.Until(s.step.Name), s.owner, edit))
}

const (
	// chances is how many runs with random ties tell what chance can bring: enough for what comes often.
	chances = 10
	// mostPlaces is how many nodes times pods a scenario may have for that, which is about a second of runs.
	mostPlaces = 20_000
)

// byChance returns the subject's step in runs of the scenario with random ties, with seeds from 1; none in large scenarios.
func (l *look) byChance(s *subject) ([]*simulation.Step, error) {
	pods := 0
	for i := range l.result.Steps {
		pods += len(l.result.Steps[i].Placed)
	}
	if len(l.nodes)*pods > mostPlaces {
		return nil, nil
	}
	if l.chance == nil {
		world, err := simulation.NewWorld(l.result.Scenario.Config, l.result.Scenario.Ties)
		if err != nil {
			return nil, err
		}
		defer world.Close()
		for seed := range uint64(chances) {
			random := *l.result.Scenario
			random.Ties.Random, random.Ties.Seed = true, seed+1
			result, err := world.Run(l.ctx, &random, simulation.Options{})
			if err != nil {
				return nil, err
			}
			l.chance = append(l.chance, result)
		}
	}
	var steps []*simulation.Step
	for _, result := range l.chance {
		for i := range result.Steps {
			if result.Steps[i].Name == s.step.Name {
				steps = append(steps, &result.Steps[i])
			}
		}
	}
	return steps, nil
}

func (l *look) last(key string, derived *scenario.Scenario) (*simulation.Step, error) {
	if step, found := l.runs[key]; found {
		return step, nil
	}
	result, err := simulation.Run(l.ctx, derived, simulation.Options{Prefix: l.result})
	if err != nil {
		return nil, err
	}
	l.runs[key] = &result.Steps[len(result.Steps)-1]
	return l.runs[key], nil
}

// version tells the subject's specs from each other. What cannot be written as JSON is told by its step.
func (s *subject) version() string {
	spec, err := json.Marshal(s.pod.Spec)
	if err != nil {
		return s.owner.Namespace + s.owner.String() + s.step.Name
	}
	return fmt.Sprintf("%s %s %d %s", s.owner.Namespace, s.owner, s.replicas, spec)
}

// few names up to three of them.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func nodeNames(nodes []*v1.Node) string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return few(names)
}
