package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/words"
)

func newGroup(given *placement.Group) *Group {
	if given == nil {
		return nil
	}
	g := &Group{Name: given.Name, MinCount: given.MinCount, Bound: given.Bound}
	for _, pod := range given.Waiting {
		switch {
		case pod.Node != "":
			g.Fit = append(g.Fit, pod.Name)
		case pod.Message != "":
			g.Refused = append(g.Refused, Refused{Pod: pod.Name, Message: pod.Message})
		default:
			g.Untried = append(g.Untried, pod.Name)
		}
	}
	return g
}

// text says which pods of the group keep the others waiting, and why.
func (g *Group) text() string {
	var parts []string
	if g.MinCount > 0 {
		parts = append(parts, fmt.Sprintf("pod group %s places %s at once or none", g.Name, words.Count(g.MinCount, "pod")))
	} else {
		parts = append(parts, "pod group "+g.Name+" places as many pods as fit")
	}
	if g.Bound > 0 {
		parts = append(parts, words.Has(g.Bound, "pod")+" a node")
	}
	if len(g.Fit) > 0 {
		parts = append(parts, words.Few(g.Fit)+" would fit")
	}
	for _, message := range g.messages() {
		var pods []string
		for _, refused := range g.Refused {
			if refused.Message == message {
				pods = append(pods, refused.Pod)
			}
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", words.Few(pods), words.Pick(len(pods), "got no node", "got no nodes"), strings.TrimSuffix(message, ".")))
	}
	if len(g.Untried) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not tried", words.Few(g.Untried), words.Pick(len(g.Untried), "was", "were")))
	}
	return words.UpperFirst(strings.Join(parts, "; ")) + "."
}

// messages returns the messages about the refused pods, without duplicates.
func (g *Group) messages() []string {
	var all []string
	for _, refused := range g.Refused {
		if !slices.Contains(all, refused.Message) {
			all = append(all, refused.Message)
		}
	}
	return all
}
