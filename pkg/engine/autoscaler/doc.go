// Package autoscaler decides what the Kubernetes Cluster Autoscaler would: how many nodes it adds to which node group for pods without a
// node, why it does not help other pods, which nodes it removes, and why the others stay.
//
// The autoscaler's module cannot be imported, so these are its rules in few words, written from its source at
// https://github.com/kubernetes-sigs/cluster-autoscaler/tree/33c3f97bf2749b1385d9223f1f8856fe345011f7. Whether a pod fits onto a node is
// asked of the scheduler's real plugins, in a sched.Snapshot. The test compares the decisions with those of the autoscaler itself.
//
// A Loop is one pass of the autoscaler's main loop:
//
//		pods without a node ─▶ fit onto nodes there are or are to come? ─▶ node groups ─▶ options ─▶ expanders ─▶ new sizes
//		nodes ─▶ candidates ─▶ eligible? ─▶ can their pods move? ─▶ unneeded ─▶ long enough? ─▶ deleted
//
//	  - loop.go is the order of things, and what one loop leaves to the next; group.go are node groups and how far they are.
//	  - template.go makes the nodes that a group would add; fit.go puts pods onto nodes.
//	  - scaleup.go, estimate.go, expander.go, balance.go and quota.go add nodes; scaledown.go and drain.go remove them.
//	  - event.go and status.go have the texts.
//
// Left out are volumes and devices of nodes to come, GPUs, the expanders price and grpc, provisioning requests, capacity buffers, groups that
// the autoscaler makes itself or that scale only as a whole, and scale-ups that fail.
package autoscaler
