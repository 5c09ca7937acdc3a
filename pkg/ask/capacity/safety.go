package capacity

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Safety is whether everything comes back as the cluster is, whichever domain of a level fails.
type Safety struct {
	// Level is the topology key; Domains the number of domains that were lost, one at a time.
	Level   string `json:"level"`
	Domains int    `json:"domains"`
	// Safe means that every pod that had a node gets another. Unreplaced is the largest number of pods that nothing replaces in one failure;
	// they need no room.
	Safe       bool `json:"safe"`
	Unreplaced int  `json:"unreplaced,omitempty"`
	// Unsafe are the failures that leave more pods Pending.
	Unsafe []Unsafe `json:"unsafe,omitempty"`
	// Lacks are the nodes to add so that all these pods fit; missing if none are needed or none help.
	Lacks []Lack `json:"lacks,omitempty"`
}

// Unsafe is a failure that leaves pods Pending.
type Unsafe struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
	// Still is how many of the pods no number of nodes of one group in one zone would place.
	Still int `json:"still,omitempty"`
	// Pod is the first of the pods, as namespace/name, and Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// Lack is a number of nodes of a group that a zone lacks.
type Lack struct {
	Group string `json:"group"`
	Zone  string `json:"zone,omitempty"`
	Nodes int    `json:"nodes"`
}

// Safe returns, for each level of which a domain may fail, whether every pod that has a node after the last step of the result comes back,
// and if not, for each failure in turn, the fewest nodes of one group in one zone with which it does. If the context ends, it returns the levels
// known by then, and the result says that it is partial.
func Safe(ctx context.Context, base *simulation.Result, opts Options) ([]Safety, error) {
	worlds := simulation.NewWorlds(base.Scenario)
	defer worlds.Close()
	w, err := worlds.First()
	if err != nil {
		return nil, err
	}
	var all []Safety
	for _, level := range opts.Survive {
		r := &rescue{world: w, lose: among(worlds), levels: base.Scenario.LevelKeys, level: level, opts: opts}
		safety, err := r.look(ctx, lastState(base))
		if err != nil && ctx.Err() != nil {
			base.Partial = "interrupted before it was known whether the cluster is safe now"
			return all, err
		} else if err != nil {
			return nil, err
		}
		all = append(all, *safety)
	}
	return all, nil
}

// rescue looks for nodes with which a cluster survives the failures of a level.
type rescue struct {
	world  world.World
	lose   recoverer
	levels []string // further keys of levels
	level  string
	opts   Options
	tried  int
}

func (r *rescue) look(ctx context.Context, state *cluster.State) (*Safety, error) {
	failures, err := losses{level: r.level, mode: r.opts.Mode, recoverer: r.lose, whole: true}.of(ctx, state)
	if err != nil {
		return nil, err
	}
	s := &Safety{Level: r.level, Domains: len(failures), Unreplaced: unreplaced(failures)}
	for _, f := range failures {
		if stranded := f.Recovery.Pending; len(stranded) > 0 {
			unsafe := Unsafe{Domain: f.Domains[0], Pods: len(stranded)}
			unsafe.Pod, unsafe.Message = stranded[0].Said()
			s.Unsafe = append(s.Unsafe, unsafe)
		}
	}
	s.Safe = len(s.Unsafe) == 0
	for i := range s.Unsafe {
		if state, err = r.add(ctx, state, s, &s.Unsafe[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add returns the cluster with the nodes that the failure lacks: of the first group that helps entirely, or else of the one that helps the
// most, in the zone where the fewest do.
func (r *rescue) add(ctx context.Context, state *cluster.State, s *Safety, unsafe *Unsafe) (*cluster.State, error) {
	pending, err := r.stranded(ctx, state, unsafe.Domain)
	if err != nil {
		return nil, err
	}
	groups, err := GroupsOf(state.Nodes, state.Pods, state.ResourceSlices, r.levels)
	if err != nil {
		return nil, err
	}
	best, lack := state, Lack{}
	unsafe.Still = pending
	for _, group := range groups {
		if group.Kept || unsafe.Still == 0 {
			continue
		}
		for _, zone := range group.Zones {
			zone.Nodes = slices.DeleteFunc(slices.Clone(zone.Nodes), func(n *v1.Node) bool { return n.Labels[r.level] == unsafe.Domain && r.level != v1.LabelHostname })
			if len(zone.Nodes) == 0 {
				continue // it fails, too
			}
			more, n, still, err := r.fewest(ctx, state, group.Name, &zone, unsafe.Domain, pending)
			if err != nil {
				return nil, err
			}
			if still < unsafe.Still || still < pending && still == unsafe.Still && n < lack.Nodes {
				best, lack, unsafe.Still = more, Lack{group.Name, zone.Name, n}, still
			}
		}
	}
	if lack.Nodes > 0 {
		s.Lacks = append(s.Lacks, lack)
	}
	return best, nil
}

// fewest finds how few more nodes in the zone help as much as one for each of the stranded pods does.
func (r *rescue) fewest(ctx context.Context, state *cluster.State, group string, zone *ZoneNodes, domain string, pending int) (best *cluster.State, n, still int, err error) {
	try := func(n int) (*cluster.State, int, error) {
		r.tried++
		if r.opts.Progress != nil {
			r.opts.Progress("nodes for the loss of "+domain, r.tried, -1)
		}
		more := state.With(zone.more(group, n, state.NodesByName())...)
		r.world.Reset()
		more, err := r.world.Settle(ctx, more, &world.Record{})
		if err != nil {
			return nil, 0, err
		}
		still, err := r.stranded(ctx, more, domain)
		return more, still, err
	}
	if best, still, err = try(pending); err != nil || still == pending {
		return best, pending, still, err
	}
	low, high := 0, pending
	for high-low > 1 {
		middle := (low + high) / 2
		more, rest, err := try(middle)
		if err != nil {
			return nil, 0, 0, err
		}
		if rest > still {
			low = middle
		} else {
			best, high, still = more, middle, rest
		}
	}
	return best, high, still, nil
}

// stranded counts the pods that the loss of the domain leaves Pending.
func (r *rescue) stranded(ctx context.Context, state *cluster.State, domain string) (int, error) {
	looked := blast.Options{Levels: []string{r.level}, Simultaneous: 1, Mode: r.opts.Mode}
	analysis, err := blast.Lost(state, looked)
	if err != nil {
		return 0, err
	}
	level := &analysis.Levels[0]
	level.Failures = slices.DeleteFunc(level.Failures, func(f blast.Failure) bool { return f.Domains[0] != domain })
	if err := blast.RecoverIn(ctx, r.world, state, analysis, looked); err != nil {
		return 0, err
	}
	return len(level.Failures[0].Recovery.Stranded), nil
}
