package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// rankVariants returns the variants, the baseline among them, the best first. A variant whose rollout gets stuck comes last. Then the fewest
// newly Pending pods count, then the fewest Pending pods; then, from the widest level to the narrowest, the fewest pods that do not come
// back and the smallest radius; then the cost. Equal variants stay in order.
func (r *Report) rankVariants() []*Variant {
	all := make([]*Variant, len(r.Variants))
	for i := range r.Variants {
		all[i] = &r.Variants[i]
	}
	slices.SortStableFunc(all, compareVariants)
	return all
}

func compareVariants(a, b *Variant) int {
	order := cmp.Or(
		cmp.Compare(min(1, len(a.StuckRollouts)), min(1, len(b.StuckRollouts))),
		cmp.Compare(a.NewlyPending, b.NewlyPending), cmp.Compare(a.Pending, b.Pending))
	as, bs := a.Goals(), b.Goals()
	compareGoal := func(name string) {
		value, known := as[name]
		if other, both := bs[name]; order == 0 && known && both {
			order = cmp.Compare(value, other)
		}
	}
	for i := range a.Levels {
		compareGoal(metric.NotBackGoal(a.Levels[i].TopologyKey))
		compareGoal(metric.RadiusGoal(a.Levels[i].TopologyKey))
	}
	compareGoal(metric.CostGoal)
	return order
}

// answer says which variant is best and what it changes, or that none is better than the baseline. Then it names the variants that leave
// pods newly Pending, and those whose rollout gets stuck.
func (r *Report) answer() string {
	base, others := &r.Variants[0], r.Variants[1:]
	if len(others) == 0 {
		return fmt.Sprintf("No variant is compared; %s Pending now.", words.Is(base.Pending, "pod"))
	}
	if len(others) == 1 {
		v := &others[0]
		if len(v.StuckRollouts) > 0 {
			return fmt.Sprintf("%s does not come about: %s.", v.Name, whatif.DescribeStuckRollout(&v.StuckRollouts[0]))
		}
		return fmt.Sprintf("%s: %s.", v.Name, cmp.Or(strings.Join(v.changes(base), "; "), "no figure changes"))
	}
	stuck := list.Where(r.rankVariants(), func(v *Variant) bool { return v != base && len(v.StuckRollouts) > 0 })
	if len(stuck) == len(others) {
		return fmt.Sprintf("No variant comes about: each rollout gets stuck. The first: %s.", whatif.DescribeStuckRollout(&stuck[0].StuckRollouts[0]))
	}
	var parts []string
	switch best := r.rankVariants()[0]; {
	case best != base:
		place := "comes first"
		if r.beatsAll(best) {
			place = "is best"
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", best.Name, place, strings.Join(best.changes(base), ", ")))
	case !slices.ContainsFunc(others, func(v Variant) bool { return len(v.changes(base)) > 0 }):
		parts = append(parts, fmt.Sprintf("No variant changes a figure: %s Pending", words.Is(base.Pending, "pod")))
	case r.beatsAll(base):
		parts = append(parts, "No variant is better than now")
	default:
		parts = append(parts, "No variant is better than now in everything")
	}
	var newly []string
	for _, v := range r.rankVariants() {
		if v.NewlyPending > 0 && len(v.StuckRollouts) == 0 {
			newly = append(newly, fmt.Sprintf("%s %d%s", v.Name, v.NewlyPending, wrapText(v.Cause, " (", ")")))
		}
	}
	if len(newly) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d %s pods newly Pending: %s", len(newly), len(others), words.Pick(len(newly), "leaves", "leave"), joinFew(newly)))
	}
	if len(stuck) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d %s not come about, %s rollout gets stuck: %s", len(stuck), len(others), words.Pick(len(stuck), "does", "do"), words.Pick(len(stuck), "its", "their"),
			joinFew(list.Map(stuck, func(v *Variant) string { return v.Name }))))
	}
	answer := strings.Join(parts, "; ") + "."
	if r.Partial != "" {
		answer = fmt.Sprintf("Of %d variants that were run: %s", len(others), answer)
	}
	return answer
}

// beatsAll reports whether the variant is at least as good as every variant that is not beaten, in each goal that both have.
func (r *Report) beatsAll(v *Variant) bool {
	goals := v.Goals()
	return !slices.ContainsFunc(r.Variants, func(other Variant) bool {
		for name, value := range other.Goals() {
			if own, both := goals[name]; other.Front && both && own != value {
				return true
			}
		}
		return false
	})
}

// changes lists the figures that differ from the baseline: "1 pod Pending (now 3)", "the loss of a zone takes at most 33% of a workload
// (now 50%)".
func (v *Variant) changes(base *Variant) []string {
	var parts []string
	switch {
	case v.NewlyPending > 0:
		parts = append(parts, fmt.Sprintf("%s newly Pending%s, %d in all (now %d)", words.Count(v.NewlyPending, "pod"), wrapText(v.Cause, " (", ")"), v.Pending, base.Pending))
	case v.Pending != base.Pending:
		parts = append(parts, fmt.Sprintf("%s Pending (now %d)", words.Count(v.Pending, "pod"), base.Pending))
	}
	for i := range v.Levels {
		level := &v.Levels[i]
		was := base.Level(level.TopologyKey)
		if was == nil {
			continue
		}
		var does []string
		if now, before := doc.Percent(level.Radius), doc.Percent(was.Radius); now != before {
			does = append(does, fmt.Sprintf("takes at most %s of a workload (now %s)", now, before))
		}
		left, looked := level.NotBack()
		if leftBefore, lookedBefore := was.NotBack(); looked && lookedBefore && left != leftBefore && level.Domains > 1 && was.Domains > 1 {
			does = append(does, fmt.Sprintf("leaves %s without a node (now %d)", words.Count(left, "lost pod"), leftBefore))
		}
		if len(does) > 0 {
			parts = append(parts, fmt.Sprintf("the loss of a %s %s", doc.LevelName(level.TopologyKey), words.And(does)))
		}
	}
	if v.Cost != nil && base.Cost != nil && *v.Cost != *base.Cost {
		parts = append(parts, fmt.Sprintf("%.2f an hour (now %.2f)", *v.Cost, *base.Cost))
	}
	return parts
}

// wrapText returns a text between two others, or "" for "".
func wrapText(text, before, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

// frontSentence names the variants that no other beats.
func (r *Report) frontSentence() string {
	var front []string
	for _, v := range r.rankVariants() {
		if v.Front {
			front = append(front, v.Name)
		}
	}
	switch {
	case len(front) == len(r.Variants):
		return "None beats another: each is better in one thing and worse in another, or they are alike."
	case len(front) == 1:
		return fmt.Sprintf("%s beats every other, or is as good in everything.", front[0])
	}
	return fmt.Sprintf("%s are not beaten: no other is better in one thing and as good in the rest.", words.And(front))
}

// stuckRollouts lists the rollouts that get stuck, each once, with the names of the variants.
func (r *Report) stuckRollouts() []string {
	var texts []string
	names := map[string][]string{}
	for i := range r.Variants {
		v := &r.Variants[i]
		for j := range v.StuckRollouts {
			text := whatif.DescribeStuckRollout(&v.StuckRollouts[j])
			if names[text] == nil {
				texts = append(texts, text)
			}
			names[text] = append(names[text], v.Name)
		}
	}
	if len(r.Variants) == 2 && len(texts) > 0 { // the answer has the first one
		texts = texts[1:]
	}
	return list.Map(texts, func(text string) string { return fmt.Sprintf("%s: %s.", joinFew(names[text]), text) })
}
