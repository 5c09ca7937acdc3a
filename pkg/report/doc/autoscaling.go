package doc

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// WithNodes returns " with 3 more nodes (spot from 3 to 6 nodes), 0.60 an hour more", or "" if no group has changed its size. There may be no
// autoscaler: nil.
func WithNodes(a *world.Autoscaling) string {
	if a == nil || !a.Changed() {
		return ""
	}
	nodes := 0
	for _, g := range a.Groups {
		nodes += g.To - g.From
	}
	with := fmt.Sprintf(" with %s (%s)", words.Count(nodes, "more node"), a.DescribeSizes())
	if nodes < 0 {
		with = fmt.Sprintf(" with %s (%s)", words.Count(-nodes, "fewer node"), a.DescribeSizes())
	}
	return with + PriceChange(a)
}

// PriceChange returns ", 0.60 an hour more", or "" if a price is unknown or the cost is the same.
func PriceChange(a *world.Autoscaling) string {
	switch more, known := a.ExtraCost(); {
	case known && more > 0:
		return fmt.Sprintf(", %.2f an hour more", more)
	case known && more < 0:
		return fmt.Sprintf(", %.2f an hour less", -more)
	}
	return ""
}

// SlowScaling returns a sentence for each workload that got its nodes over several loops: "7 of 8 loops add 1 node each, though more pods of
// deployment/app wait: another new node of the same group would violate their spread over topology.kubernetes.io/zone".
func SlowScaling(all []world.Slow) []string {
	var sentences []string
	for _, s := range all {
		if s.Loops <= 1 {
			continue
		}
		nodes := "1 node each"
		if s.Most > 1 {
			nodes = fmt.Sprintf("at most %d nodes each", s.Most)
		}
		why := fmt.Sprintf("another new node of the same group would not take the next one (%s)", strings.Join(s.Reasons, ", "))
		if len(s.Spreads) > 0 {
			why = "the next one on another new node of the same group would violate their spread over " + words.And(s.Spreads)
		}
		sentences = append(sentences, fmt.Sprintf("%d of %s add %s, though more pods of %s wait: %s", s.Loops, words.Count(s.Of, "loop"), nodes, s.Qualified(), why))
	}
	return sentences
}
