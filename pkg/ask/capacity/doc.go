// Package capacity computes how much more fits on a cluster, and how small a cluster could be.
//
// Find answers how many more replicas of a workload, or of a mix, fit before the first pod stays Pending, and how many if any one domain of
// a level may fail. Size finds the cheapest numbers of nodes on which everything is placed. Every reported count was tried on the real
// scheduler; arithmetic only says where to look first.
//
//	resources ───▶ a count that cannot fit    (arithmetic: an upper end)
//	probe(count) ─▶ fits, or by how much not   (a run of the scenario with one step more)
//	search ───────▶ fits / does not, one apart (each miss says where to look next; every third guess is the middle)
//	checks ───────▶ points around and below    (whether fewer always fit, too)
package capacity
