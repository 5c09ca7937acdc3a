// Package autoscaler makes the decisions of the Kubernetes Cluster Autoscaler: how many nodes it adds to which node group for pods without
// a node, why it does not help other pods, which nodes it removes, and why the others stay.
//
// The autoscaler's module cannot be imported. These are its rules in short, written from its source at
// https://github.com/kubernetes-sigs/cluster-autoscaler/tree/33c3f97bf2749b1385d9223f1f8856fe345011f7. The scheduler's real plugins, in a
// sched.Snapshot, say whether a pod fits onto a node. The test compares the decisions with those of the autoscaler itself.
//
// A Loop is one pass of the autoscaler's main loop:
//
//	pods without a node ─▶ fit onto current or upcoming nodes? ─▶ node groups ─▶ options ─▶ expanders ─▶ new sizes
//	nodes ─▶ candidates ─▶ eligible? ─▶ can their pods move? ─▶ unneeded ─▶ long enough? ─▶ deleted
//
// Its steps are in these files:
//   - loop.go has the order of these steps, and what a loop remembers for the next; group.go has node groups and the states of their nodes.
//   - template.go makes the nodes that a group would add; fit.go puts pods onto nodes.
//   - scaleup.go, estimate.go, expander.go, balance.go and quota.go add nodes; scaledown.go and drain.go remove them.
//   - event.go and status.go have the texts.
//
// The package leaves out: volumes and devices of upcoming nodes, GPUs, the expanders price and grpc, provisioning requests, capacity
// buffers, groups that the autoscaler creates itself or that scale only as a whole, and scale-ups that fail.
package autoscaler
