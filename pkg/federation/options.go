package federation

import "time"

// Options say how Karmada is run.
type Options struct {
	Gates Gates
	// AskMembers has each cluster's own scheduler reckon the room in it, in place of Karmada's arithmetic.
	AskMembers bool
	// Failover says whether workloads move away from a cluster that fails, and how; nil is that they do not.
	Failover *FailoverOptions
}

// FailoverOptions are those of Karmada's controller manager.
type FailoverOptions struct {
	// PurgeMode is that of workloads whose policy says nothing; "" is PurgeGracefully.
	PurgeMode string
	// Tolerated is how long a workload stays in a failed cluster whose policy does not tolerate the taint.
	Tolerated time.Duration
	// Interval is the time between one workload that is moved away and the next.
	Interval time.Duration
}
