// Package risk computes how likely each workload is, at a random moment, to have replicas down, or to be below its disruption budgets or
// its quorum, given how often nodes, zones and regions fail and how long they stay down.
//
// # The model
//
// A level is a topology key, and its domains are the nodes that share a value of it; every single node is a domain of the level node. Each
// domain of each level fails independently, at a constant rate λ (a Poisson process while it is up), and is then down for a time with mean
// r. In the long run it is down for the fraction u = λr/(1+λr) of the time, whatever the distribution of the repair times (an alternating
// renewal process). A pod is down while its node, or any other domain that contains its node, is down. So failures of the wider levels take
// many pods together.
//
// # What the model leaves out
//
//   - The placement stays. A lost pod is not replaced elsewhere, so the answers are upper bounds: rescheduling can only shorten
//     an outage that lasts longer than a pod takes to be evicted, placed and started.
//   - Domains of one level do not fail together, except as parts of a wider domain; nothing fails for lack of capacity; failures of
//     the software itself, of rollouts, of the control plane, of networks and of storage do not occur.
//   - Pods that are down at the start (Pending, not ready, on a node that is not there) stay down.
//
// # How it is computed
//
// If the domains that contain pods of a workload nest, each within another or disjoint from it, the distribution of the number of replicas
// down is exact. It is computed from the inside out. If a domain is up, its number of replicas down is the sum over its parts, which are
// independent, so their distributions convolve. With probability u the domain is down with all its pods.
//
// If they cross, such as racks whose names recur in several zones, the distribution is counted in trials instead, with the 95 % Wilson
// score interval around each probability. Trials show little about events rarer than one in the number of trials: the interval then begins
// at 0, and only its upper end is meaningful.
//
// The expected number of replicas down is exact in both cases: it is the sum of the pods' own unavailabilities, however they are
// correlated.
package risk
