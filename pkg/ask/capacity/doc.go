// Package capacity computes how much more fits on a cluster, and how small a cluster could be.
//
// Find answers how many more replicas of a workload, or of a mix, fit before the first pod stays Pending, and how many fit if any one
// domain of a level may fail. Size finds the cheapest numbers of nodes on which every pod has a node. Every reported count was tried on the
// real scheduler; arithmetic only says where to look first.
//
//	resources ───▶ a count that cannot fit    (arithmetic: an upper end)
//	probe(count) ─▶ fits, or by how much not   (a run of the scenario with one more step)
//	search ───────▶ n fits, n+1 does not       (a count that does not fit says where to look next)
//	checks ───────▶ counts around and below    (whether every smaller count fits, too)
package capacity
