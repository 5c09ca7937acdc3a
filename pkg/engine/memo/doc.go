// Package memo caches the answers of the scheduler's plugins. A cached answer equals the plugin's own answer, bit for bit: an engine
// without this package is slower and otherwise the same.
//
// Upstream asks about every pod anew: InterPodAffinity and PodTopologySpread walk over all nodes and pods, and every filter and score looks
// at every node. But pods of one template ask the same questions, and between two of them little changes in the cluster. For example,
// upstream asks a filter that reads only the node about up to 5,000 nodes for each of 1,000 replicas of a Deployment; here the filter is
// asked about each node once, and then about one node for each further replica: the node that took the previous replica. So
//
//   - the two walks run once per template. This package keeps their result, which is upstream's own cycle state, and updates the result
//     with the pods that came and went before the next pod of the template (affinity.go, spread.go; pods.go has the log of these pods);
//   - if a plugin reads nothing but the template and the node, its answer is kept until the node changes (framework.go), for all templates
//     that differ in nothing but rules about other pods (template.go).
//
// Filter, Score and NormalizeScore are upstream's code. The one exception is the sum in PodTopologySpread's Score (spread_score.go). The
// package caches answers only of the plugins that it lists, each with what the plugin reads; every other plugin is asked each time.
package memo
