package makeroom

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/world"
)

var train = cluster.WorkloadRef{Namespace: "batch", Workload: "job/train"}

func move(pod, workload, from, to string) makeroom.Move {
	return makeroom.Move{Move: world.Move{PodRef: cluster.PodRef{Namespace: "shop", Name: pod, Workload: workload}, From: from, Next: pod + "-2", To: to}, Priority: 10, Age: 90, Replicas: 3}
}

// made has three moves in two stages, one of them with local data.
func made() *makeroom.Answer {
	data := move("cache-a", "deployment/cache", "gpu-7", "gpu-2")
	data.LosesData = true
	return &makeroom.Answer{
		Workloads: []cluster.WorkloadRef{train}, Pods: 1, Waiting: 1, Made: true, AtLeast: 3, Fewest: true, Tried: 12,
		Stages: []makeroom.Stage{{Cordoned: []string{"gpu-2"}, Moves: []makeroom.Move{move("etl-a", "deployment/etl", "gpu-2", "gpu-1")}},
			{Cordoned: []string{"gpu-7"}, Moves: []makeroom.Move{data, move("etl-b", "deployment/etl", "gpu-7", "gpu-1")}}},
		Placed:   []makeroom.Placed{{PodRef: cluster.PodRef{Namespace: "batch", Name: "train-x", Workload: "job/train"}, Node: "gpu-7"}},
		Commands: []string{"kubectl cordon gpu-2", "kubectl uncordon gpu-2"},
	}
}

// unmade has no moves within the budgets, and two without.
func unmade() *makeroom.Answer {
	first := move("cache-a", "deployment/cache", "gpu-7", "gpu-2")
	first.Budgets = []string{"shop/cache"}
	return &makeroom.Answer{
		Workloads: []cluster.WorkloadRef{train}, Pods: 1, Waiting: 1, AtLeast: 2, Tried: 12, Message: "0/3 nodes are available: 3 Insufficient cpu.",
		Taken: []makeroom.Placed{{PodRef: cluster.PodRef{Namespace: "shop", Name: "late", Workload: "deployment/late"}, Node: "gpu-1"}},
		Obstacles: []makeroom.Obstacle{{Node: "gpu-7", Short: &makeroom.Short{Resource: "cpu", Asked: "4", Free: "1500m", Movable: "1"}, Stays: []world.BlockedPod{
			{PodRef: cluster.PodRef{Namespace: "shop", Name: "bare"}, Reason: "cannot delete Pods that declare no controller (use --force to override): shop/bare"}}}, {Node: "gpu-8"}},
		Without: &makeroom.Alternative{Budgets: []string{"shop/cache"}, Stages: []makeroom.Stage{{Cordoned: []string{"gpu-7"}, Moves: []makeroom.Move{first, move("etl-a", "deployment/etl", "gpu-7", "gpu-1")}}}},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("gpu-1", "gpu-2", "gpu-7"), "apply")
	reporttest.Formats(t, Formats, New(result, made(), "v0.1.0"), "made", "make-room-report", Kind)
	reporttest.Formats(t, Formats, New(result, unmade(), "v0.1.0"), "unmade", "make-room-report", Kind)
}

// The first line is the answer, and true by itself.
func TestVerdict(t *testing.T) {
	several, data := made(), unmade()
	several.Fewest, several.AtLeast = false, 2
	data.Without = &makeroom.Alternative{Budgets: []string{"shop/cache"}, Data: []string{"shop/cache-a"}, Stages: data.Without.Stages[:1]}
	short := []makeroom.Obstacle{{Node: "n", Short: &makeroom.Short{Resource: "cpu", Asked: "8", Free: "1", Movable: "2"}}}
	asked := []cluster.WorkloadRef{train}
	for want, a := range map[string]*makeroom.Answer{
		"Yes: 3 moves on gpu-2 and gpu-7 (of shop/deployment/cache and shop/deployment/etl), nobody below its budget.":                                                                                 made(),
		"Yes: 3 moves on gpu-2 and gpu-7 (of shop/deployment/cache and shop/deployment/etl), nobody below its budget; at least 2 moves are needed.":                                                    several,
		"Yes: no move is needed, as nodes have all 4 pods of batch/job/train.":                                                                                                                         {Workloads: asked, Pods: 4, Made: true},
		"Yes: no move is needed, as a node has the pod of batch/job/train.":                                                                                                                            {Workloads: asked, Pods: 1, Made: true},
		"No: no move makes room, and none of the larger numbers that were tried; 2 moves would do without the budget of shop/cache.":                                                                   unmade(),
		"No: no move makes room, and none of the larger numbers that were tried; 2 moves would do without the budget of shop/cache and with --delete-emptydir-data, which loses data of shop/cache-a.": data,
		"No: 8 CPU are free nowhere together, even without all pods that may move.":                                                                                                                    {Workloads: asked, Pods: 1, Waiting: 1, Impossible: true, Obstacles: short},
		"No: the nodes have no room for the 4 pods of batch/job/train together, even without all pods that may move.":                                                                                  {Workloads: asked, Pods: 4, Waiting: 4, Impossible: true, Obstacles: short},
		"No: no node may take the pod of batch/job/train.":                                                                                                                                             {Workloads: asked, Pods: 1, Waiting: 1, Impossible: true},
		"No: none of the 12 sequences of moves that were tried makes room.":                                                                                                                            {Workloads: asked, Pods: 1, Waiting: 1, AtLeast: 1, Tried: 12},
		"No: the API server refuses 2 pods of batch/job/train, which no move changes: exceeded quota.":                                                                                                 {Workloads: asked, Pods: 2, NotCreated: 2, Refusal: "exceeded quota"},
	} {
		if got := document(&Report{Answer: *a}, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	partial := &Report{Head: report.Head{Partial: "interrupted"}, Answer: makeroom.Answer{Workloads: asked, Pods: 1, Waiting: 1, Tried: 7}}
	if got, want := document(partial, report.Options{}).Answer(), "Not known yet: none of the 7 sequences of moves that were tried makes room for batch/job/train."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Names are data: none of them is read as a part of a page.
func TestNamesDoNoHarm(t *testing.T) {
	h := reporttest.Hostile
	pod := cluster.PodRef{Namespace: h, Name: h, Workload: h}
	moves := []makeroom.Stage{{Cordoned: []string{h}, Moves: []makeroom.Move{{Move: world.Move{PodRef: pod, From: h, Next: h, To: h, Budgets: []string{h}}}}}}
	stays := []world.BlockedPod{{PodRef: pod, Reason: h}}
	for _, a := range []makeroom.Answer{
		{Workloads: []cluster.WorkloadRef{{Namespace: h, Workload: h}}, Waiting: 1, Made: true, Stages: moves, Placed: []makeroom.Placed{{PodRef: pod, Node: h}}, Commands: []string{h}},
		{Workloads: []cluster.WorkloadRef{{Namespace: h, Workload: h}}, Waiting: 1, Message: h, Taken: []makeroom.Placed{{PodRef: pod, Node: h}}, Obstacles: []makeroom.Obstacle{{Node: h, Short: &makeroom.Short{Resource: h, Asked: h, Free: h, Movable: h}, Stays: stays}},
			Without: &makeroom.Alternative{Budgets: []string{h}, Data: []string{h}, Stages: moves}},
	} {
		reporttest.CheckHarmless(t, reporttest.Write(t, Formats, &Report{Answer: a}, "markdown", report.Options{}))
	}
}
