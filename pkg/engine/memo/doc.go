// Package memo spares the scheduler's plugins questions that they have answered before. Its answers are those of the plugins, bit for bit;
// an engine without it is slower and otherwise the same.
//
// Upstream asks about every pod anew: InterPodAffinity and PodTopologySpread walk over all nodes and pods, and every filter and score
// looks at every node. But the pods of one template ask the same questions again, and between two of them little has changed. So
//
//   - the two walks run once per template. Their result, upstream's own cycle state, is carried from pod to pod, brought up to date with the
//     pods that came and went since (affinity.go, spread.go; pods.go knows which those are);
//   - what a plugin says of a node by looking at nothing but the template and the node is kept until the node changes (framework.go), for
//     all templates that differ in nothing but rules about other pods (template.go).
//
// Filter, Score and NormalizeScore are upstream's, except for the sum that is PodTopologySpread's Score (spread_score.go). What a plugin reads
// is known of the plugins listed here only, with the reason; every other plugin is asked each time.
package memo
