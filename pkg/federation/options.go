package federation

import "time"

// Options are options of Karmada's components.
type Options struct {
	Gates Gates
	// AskMembers lets each cluster's own scheduler estimate its room, instead of Karmada's arithmetic.
	AskMembers bool
	// Failover determines how workloads move away from a cluster that fails. If it is nil, they do not move.
	Failover *FailoverOptions
}

// FailoverOptions are options of Karmada's controller manager.
type FailoverOptions struct {
	// PurgeMode is the mode for workloads whose policy sets none; "" means PurgeGracefully.
	PurgeMode string
	// Tolerated is how long a workload stays in a failed cluster if its policy does not tolerate the taint.
	Tolerated time.Duration
	// Interval is the time between two evictions.
	Interval time.Duration
}
