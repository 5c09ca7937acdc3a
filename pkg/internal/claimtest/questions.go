package claimtest

import (
	"context"
	"fmt"
	"slices"
	"testing/fstest"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/drain"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/report/scale"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Load returns the scenario of a world, given as the YAML that [World] makes.
func Load(text string) (*scenario.Scenario, error) {
	return loader.LoadFS(fstest.MapFS{"world.yaml": {Data: []byte(text)}}, "world.yaml", loader.Options{})
}

// question is a question about a world. It returns claims, and the scenario for which they hold.
type question struct {
	name string
	ask  func(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error)
}

var questions = []question{
	{"capacity", askCapacity}, {"drain", askDrain}, {"consolidate", askConsolidate}, {"roll", askRoll}, {"blast", askBlast}, {"explain", askExplain}, {"scale", askScale}, {"peak", askPeak}, {"make-room", askMakeRoom}, {"plan", askPlan}, {"size", askSize}, {"advise", askAdvise}, {"run", askRun},
}

// Ask asks every question about the scenario, and calls f with the claims of each answer and the scenario for which they hold.
func Ask(ctx context.Context, s *scenario.Scenario, f func(question string, of *scenario.Scenario, claims []claim.Claim) error) error {
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if err != nil {
		return err
	}
	for _, q := range questions {
		of, claims, err := q.ask(ctx, s, result)
		if err == nil {
			err = f(q.name, of, claim.MakeUnique(claims))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

// Check asks every question about the scenario, and runs every claim. It returns the number of claims, and descriptions of the claims that
// do not hold.
func Check(ctx context.Context, s *scenario.Scenario) (claims int, failed []string, err error) {
	err = Ask(ctx, s, func(question string, of *scenario.Scenario, made []claim.Claim) error {
		proved, err := expect.Prove(ctx, of, made, nil)
		if err != nil {
			return err
		}
		for _, p := range proved {
			claims++
			for _, why := range p.Failed {
				failed = append(failed, fmt.Sprintf("%s: %s: %s", question, p.Says, why))
			}
		}
		return nil
	})
	return claims, failed, err
}

func askCapacity(ctx context.Context, s *scenario.Scenario, _ *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	base, err := simulation.Run(ctx, capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	asked, err := capacity.Mixes(base.State(), nil, nil)
	if err != nil || len(asked) == 0 {
		return s, nil, err
	}
	opts := capacity.Options{Mode: node.Unreachable}
	if state := base.State(); len(state.Pods)%2 == 0 {
		opts.Survive, _ = capacity.Levels(state.Nodes, s, []string{"zone"}) // none if there is one zone
	}
	answers, err := capacity.Find(ctx, base, asked, opts)
	if err != nil {
		return nil, nil, err
	}
	claims, err := capacity.Claims(base, answers, opts)
	return s, claims, err
}

func askDrain(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	var claims []claim.Claim
	last := result.Last()
	options := world.DrainOptions{DrainOptions: node.DrainOptions{IgnoreDaemonSets: true}}
	for _, of := range last.State.Nodes {
		w, err := world.NewCluster(s.Config, s.Ties)
		if err != nil {
			return nil, nil, err
		}
		if err := w.Resume(*last.Mark()); err != nil {
			return nil, nil, err
		}
		_, drained, err := w.DrainNodes(ctx, last.State, []string{of.Name}, options, &world.Record{})
		w.Close()
		if err != nil {
			return nil, nil, err
		}
		claims = append(claims, drain.New(result, drained, nil, false, "test").Claims(options)...)
		options.Force = !options.Force
	}
	return s, claims, nil
}

func askConsolidate(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	w, err := simulation.NewCluster(s)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	answer, err := consolidate.Run(ctx, w, result, consolidate.Options{Drain: scenario.Drain{DeleteEmptyDirData: true}})
	if err != nil {
		return nil, nil, err
	}
	return s, answer.Claims(), nil
}

func askRoll(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	state := result.State()
	if !slices.ContainsFunc(state.Nodes, func(n *v1.Node) bool { return n.Labels["pool"] == "general" }) {
		return s, nil, nil
	}
	w, err := simulation.NewCluster(s)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	opts := roll.Options{Pool: "pool=general", Surge: 1, Order: roll.ByName, New: scenario.AddNodes{After: "2m"}, Drain: scenario.Drain{Timeout: "15m", DeleteEmptyDirData: true}, KeepGoing: len(state.Nodes)%2 == 0}
	answer, err := roll.Run(ctx, w, result, opts)
	if err != nil {
		return nil, nil, err
	}
	return s, answer.Claims(), nil
}

func askBlast(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	last := result.Last()
	state := last.State
	mode := []node.FailureMode{node.Unreachable, node.OutOfService, node.Deleted}[len(state.Pods)%3]
	opts := blast.Options{Levels: []string{v1.LabelTopologyZone, v1.LabelHostname}, Simultaneous: 1, Mode: mode, From: last.Mark()}
	analysis, err := blast.Lost(state, opts)
	if err == nil {
		err = blast.Recover(ctx, state, s, analysis, opts, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	return s, analysis.Claims(mode), nil
}

// askExplain asks about the first Pending pod.
func askExplain(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	last := result.Last()
	if len(last.Pending) == 0 {
		return s, nil, nil
	}
	pod := last.Pending[0].Pod
	q := explain.Question{Step: last.Name, Most: 1}
	q.Kind, q.Namespace, q.Name = "Pod", pod.Namespace, pod.Name
	_, pods, _, err := explain.Pods(ctx, s, q, explain.Options{})
	if err != nil || len(pods) == 0 || pods[0].Step != last.Name {
		return s, nil, nil // the pod is Pending since an earlier step
	}
	return s, pods[0].Claims(), nil
}

func askScale(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	grouped, _, err := (&scenario.Autoscaler{GroupsBy: "pool", NodeGroups: []scenario.AutoscaledGroup{{Name: "general", Max: len(s.Nodes()) + 2}}}).WithLabelGroups(s.Nodes(), s.Pods())
	if err != nil {
		return s, nil, nil // no node has the label
	}
	with := *s
	with.Autoscaler = grouped
	scaled, err := simulation.Run(ctx, &with, simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	ran := run.New(scaled, make([][]expect.Judged, len(scaled.Steps)), "test")
	return &with, scale.New(scaled, ran, "test").Claims(scaled), nil
}

// askRun asks for the world as it is, or in every second world for the world without its first workload.
func askRun(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	last := result.State()
	if of := capacity.Workloads(last); len(of) > 0 && len(last.Pods)%2 == 0 {
		asked := s.AppendQuestion(scenario.Step{Name: "delete", Delete: &scenario.Delete{Targets: []string{of[0].String()}, Namespace: of[0].Namespace}})
		var err error
		if result, err = simulation.Run(ctx, asked, simulation.Options{}); err != nil {
			return nil, nil, err
		}
	}
	with, claims := run.Claims(result)
	return with, claims, nil
}

func askPeak(ctx context.Context, s *scenario.Scenario, _ *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	base, err := simulation.Run(ctx, capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	state := base.State()
	opts := peak.Options{Mode: node.Unreachable}
	if len(state.Pods)%2 == 1 {
		opts.Survive, _ = capacity.Levels(state.Nodes, s, []string{"zone"}) // none if there is one zone
	}
	answer, err := peak.Find(ctx, base, opts)
	if err != nil {
		return nil, nil, err
	}
	return s, answer.Claims(), nil
}

// askMakeRoom asks for room for all pods that wait.
func askMakeRoom(ctx context.Context, s *scenario.Scenario, _ *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	base, err := simulation.Run(ctx, capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	w, err := simulation.NewCluster(base.Scenario)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	answer, err := makeroom.Find(ctx, w, base, makeroom.Options{Tries: 24})
	if err != nil {
		return nil, nil, err
	}
	return s, answer.Claims(), nil
}

func askPlan(ctx context.Context, s *scenario.Scenario, _ *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	base, err := simulation.Run(ctx, capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	survive, err := capacity.Levels(base.State().Nodes, s, []string{"zone"})
	if err != nil {
		return s, nil, nil // there is one zone
	}
	answer, err := plan.Find(ctx, base, plan.Options{Survive: survive, Mode: node.Unreachable})
	if err != nil {
		return nil, nil, err
	}
	return s, answer.Claims(), nil
}

func askSize(ctx context.Context, s *scenario.Scenario, result *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	s = s.CutAfter(scenario.WorkloadsStep) // later steps act on nodes by name
	opts := capacity.SizeOptions{Options: capacity.Options{Mode: node.Unreachable}, Most: 12, Free: len(result.Initial.Nodes)%2 == 0}
	if len(s.Pods())%2 == 0 {
		opts.Survive, _ = capacity.Levels(result.Initial.Nodes, s, []string{"zone"}) // none if there is one zone
	}
	sizing, err := capacity.Size(ctx, s, opts)
	if err != nil {
		return nil, nil, err
	}
	return sizing.Claims()
}

// askAdvise asks about the first workload that advice is available for.
func askAdvise(ctx context.Context, s *scenario.Scenario, _ *simulation.Result) (*scenario.Scenario, []claim.Claim, error) {
	for _, obj := range s.Objects() {
		if of := cluster.RefTo(obj); slices.Contains(advice.Kinds, of.Kind) {
			advised, err := advice.ForWorkload(ctx, s, of, advice.Options{})
			if err != nil {
				return nil, nil, err
			}
			return s, advised.Claims(), nil
		}
	}
	return s, nil, nil
}
