package scenario

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Peak scales every workload with a HorizontalPodAutoscaler to the autoscaler's maxReplicas, in one moment, as the highest load would. A
// workload without replicas stays so, unless its autoscaler has minReplicas 0 or belongs to KEDA.
type Peak struct {
	// Share is how far the workloads go from their present replicas to those of the peak, from 0 to 1: with 0.5, a workload of 4 that may
	// have 10 gets 7. Replicas are rounded up. Default: 1.
	Share *float64 `json:"share,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Replicas gives the replicas of workloads at the peak, by kind/name or namespace/kind/name, in place of maxReplicas; the workload of
	// an autoscaler stays between minReplicas and maxReplicas. Workloads without an autoscaler can be among them. Default: none.
	Replicas map[string]int32 `json:"replicas,omitempty"`
	// CronJobs lists CronJobs that run, each once and at the same moment, as cronjob/name or namespace/cronjob/name. The word all stands for each
	// CronJob, and busiest for those that are due in the busiest clock hour of the 31 days from then on: their pods request the largest share of
	// the CPU or of the memory of all nodes. Default: none.
	CronJobs []string `json:"cronJobs,omitempty"`
}

// AllCronJobs and BusiestCronJobs are words of Peak.CronJobs: each CronJob, and those of the busiest hour.
const AllCronJobs, BusiestCronJobs = "all", "busiest"

// Way returns how far the workloads go, from 0 to 1.
func (p *Peak) Way() float64 { return ptr.Deref(p.Share, 1) }

func (*Peak) instead() string { return "scale the workloads one by one" }

func (p *Peak) validate(c *actionChecks) { p.validateLoad(c.Problems, c.path) }

func (p *Peak) validateLoad(problems *Problems, path *field.Path) {
	if way := p.Way(); !(way >= 0 && way <= 1) {
		problems.Add(path.Child("share"), "%v is not from 0 to 1; give a share such as 0.8", way)
	}
	for _, workload := range slices.Sorted(maps.Keys(p.Replicas)) {
		validateWorkload(problems, path.Child("replicas").Key(workload), workload, ScalableKinds...)
		validateNotNegative(problems, path.Child("replicas").Key(workload), int(p.Replicas[workload]))
	}
	for i, name := range p.CronJobs {
		if name != AllCronJobs && name != BusiestCronJobs {
			validateWorkload(problems, path.Child("cronJobs").Index(i), name, "CronJob")
		}
	}
}
