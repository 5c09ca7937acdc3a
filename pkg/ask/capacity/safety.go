package capacity

import (
	"context"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/simulation"
)

// Safety says whether every lost pod of the present cluster comes back, whichever domain of a level fails.
type Safety struct {
	// Level is the topology key, and Domains the number of its domains, which fail one at a time.
	Level   string `json:"level"`
	Domains int    `json:"domains"`
	// Safe means that every pod that had a node gets another. Unreplaced is the largest number of pods that nothing replaces in one failure;
	// they need no room.
	Safe       bool `json:"safe"`
	Unreplaced int  `json:"unreplaced,omitempty"`
	// Running is the number of pods that have a node. NotRunning are the workloads of which no pod runs although pods wait for a node; no failure takes
	// anything of them.
	Running    int      `json:"running"`
	NotRunning []string `json:"notRunning,omitempty"`
	// Unsafe are the failures that leave more pods Pending.
	Unsafe []Unsafe `json:"unsafe,omitempty"`
}

// Unsafe is a failure that leaves pods Pending.
type Unsafe struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
	// Pod is the first of the pods, as namespace/name, and Message kube-scheduler's FailedScheduling text for it.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// CheckSafety returns, for each level in opts.Survive, whether every pod that has a node after the last step of the result comes back after any
// failure. Package plan finds what to add if some pod does not. If the context ends, it returns that error and the levels known by then;
// the result's Partial then says so.
func CheckSafety(ctx context.Context, base *simulation.Result, opts Options) ([]Safety, error) {
	worlds := simulation.NewWorlds(base.Scenario)
	defer worlds.Close()
	var all []Safety
	for i, level := range opts.Survive {
		if opts.Progress != nil {
			opts.Progress("loss of each "+level, i, len(opts.Survive))
		}
		safety, err := checkLevel(ctx, worlds, base.Last(), level, opts)
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

func checkLevel(ctx context.Context, worlds *simulation.Worlds, after *simulation.Step, level string, opts Options) (*Safety, error) {
	failures, err := losses{level: level, mode: opts.Mode, recoverer: recoverAmong(worlds), exhaustive: true}.examine(ctx, after)
	if err != nil {
		return nil, err
	}
	s := &Safety{Level: level, Domains: len(failures), Unreplaced: maxUnreplaced(failures)}
	for _, f := range failures {
		if stranded := f.Recovery.Pending; len(stranded) > 0 {
			unsafe := Unsafe{Domain: f.Domains[0], Pods: len(stranded)}
			unsafe.Pod, unsafe.Message = stranded[0].Describe()
			s.Unsafe = append(s.Unsafe, unsafe)
		}
	}
	s.Safe = len(s.Unsafe) == 0
	for _, count := range after.State.PodCounts() {
		s.Running += count.Running
	}
	s.NotRunning = blast.NotRunning(after.State)
	return s, nil
}
