// Package federation makes Karmada's decisions: which member clusters get a workload, and how many of its replicas each gets.
//
//	policies, a template ─ Bind ───────▶ Binding      the policy that selects the template, its replicas and its groups
//	                     ─ Schedule ───▶ its clusters filter, score, select clusters, assign replicas; or why not
//	                     ─ Overridden ─▶ the object that a member gets
//
// The package does not know nodes or pods. It cannot import Karmada's scheduler, which needs the API machinery of another Kubernetes
// release. So it is the smallest reimplementation that makes the same decisions as commit f8fdd02d, 18 commits after v1.19.0-rc.0. Each
// rule links to its source. Karmada runs filters in the random order of a Go map and reports the first rejection. Here they run in the
// order of the variable filters, which is one of Karmada's possible orders.
package federation
