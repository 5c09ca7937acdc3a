package simulation

import (
	"fmt"
	"strings"
)

// plural formats a count: "1 pod", "2 pods".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ofAll formats n of all pods.
func ofAll(n, all int) string {
	switch {
	case all == 1 && n == 1:
		return "the pod"
	case all == 2 && n == 2:
		return "both pods"
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

// joined lists words as in a sentence: "a", "a and b", "a, b and c".
func joined(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// few lists a few words and cuts a long list short.
func few(words []string) string {
	const most = 6
	if len(words) <= most {
		return joined(words)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}
