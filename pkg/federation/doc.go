// Package federation is what Karmada decides: which member clusters get a workload, and how many of its replicas.
//
//	policies, a template ─ Bind ───────▶ Binding      the policy that selects the template, its replicas and its groups
//	                     ─ Schedule ───▶ its clusters filter, score, select clusters, assign replicas; or why not
//	                     ─ Overridden ─▶ the object that a member gets
//
// It knows nothing of nodes and pods. Karmada's module is no library that could be used here: its scheduler comes with the API machinery of
// another Kubernetes release. So this is the smallest version of it that decides the same, written after commit f8fdd02d, 18 commits after v1.19.0-rc.0; each rule has a link to
// its source. Karmada runs filters in the random order of a Go map, and reports the first that refuses; here they run in the order of
// filters, which is one of Karmada's.
package federation
