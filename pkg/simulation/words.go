package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
)

// plural counts things: "1 pod", "2 pods".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ofAll says how many pods of all it is about.
func ofAll(n, all int) string {
	switch {
	case n == all && n == 1:
		return "the pod"
	case n == all:
		return fmt.Sprintf("all %d pods", n)
	}
	return fmt.Sprintf("%d of %d pods", n, all)
}

func are(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return fmt.Sprintf("%d pods are", n)
}

// joined lists words as a sentence does: "a", "a and b", "a, b and c".
func joined(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// few names a few things, and cuts a long list short.
func few(words []string) string {
	const most = 6
	if len(words) <= most {
		return joined(words)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// schedulable returns the nodes whose taints the pod tolerates.
func schedulable(nodes []*v1.Node, pod *v1.Pod) []*v1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(node *v1.Node) bool {
		_, refused := corev1.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *v1.Taint) bool {
			return taint.Effect != v1.TaintEffectPreferNoSchedule
		}, false)
		return refused
	})
}
