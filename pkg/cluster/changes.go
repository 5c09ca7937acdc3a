package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/list"
)

// SameSlice reports whether the two lists are the same slice. States share the lists that did not change.
func SameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// lookahead is how many objects Changes looks ahead before it looks up names.
const lookahead = 64

// VisitChanges calls f for each object that is in only one of the two lists. It passes both objects if one replaces the other, and otherwise nil
// for the missing one. The position is the index of the new object in the second list, or -1 if there is none. Changes compares pointers,
// because states share the objects that did not change. If the two lists have objects in another order, Changes reports some of them as
// gone and later as new.
func VisitChanges[T interface {
	Object
	comparable
}](before, after []T, f func(was, is T, position int)) {
	if SameSlice(before, after) {
		return
	}
	var none T
	next := 0
	var names *positions[T]
	for i, was := range before {
		switch {
		case next < len(after) && after[next] == was:
			next++
		case next < len(after) && sameName(after[next], was):
			f(was, after[next], next)
			next++
		case next == len(after) || slices.Contains(before[i+1:min(i+1+lookahead, len(before))], after[next]):
			f(was, none, -1)
		default:
			if names == nil {
				names = newPositions(before, after, i, next)
			}
			at, found := names.findAfterNew(was, i, next)
			if !found {
				f(was, none, -1)
				continue
			}
			for ; next < at; next++ {
				f(none, after[next], next)
			}
			if after[at] != was {
				f(was, after[at], at)
			}
			next++
		}
	}
	for ; next < len(after); next++ {
		f(none, after[next], next)
	}
}

// sameName reports whether the objects have the same kind, namespace and name.
func sameName(a, b Object) bool {
	return a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace() && KindOf(a) == KindOf(b)
}

// positions has the indexes of the objects of two lists, by name. Changes needs them if many objects between two others are new, as when
// the second list is that of an earlier state.
type positions[T Object] struct {
	list          []T // after
	before, after map[types.NamespacedName]int
	checkedUpTo   int // all objects of the second list before this index are known to be absent from the rest of the first
}

// newPositions returns the positions of the objects from index i of the first list and from index next of the second.
func newPositions[T Object](before, after []T, i, next int) *positions[T] {
	p := &positions[T]{after, make(map[types.NamespacedName]int, len(before)-i), make(map[types.NamespacedName]int, len(after)-next), next}
	for ; i < len(before); i++ {
		p.before[NameOf(before[i])] = i
	}
	for ; next < len(after); next++ {
		p.after[NameOf(after[next])] = next
	}
	return p
}

// findAfterNew returns the index in the second list of the i-th object of the first. It reports false if the second list lacks the object, or
// has an object between next and that index that comes later in the first list. For example, the lists are (a, b) and (x, y, a, b), i and
// next are 0, and a is at 2: x and y are new, so inserted returns 2. With the second list (b, a), it returns false, since b is not new.
func (p *positions[T]) findAfterNew(obj T, i, next int) (at int, found bool) {
	at, found = p.after[NameOf(obj)]
	if !found || at < next {
		return 0, false
	}
	for p.checkedUpTo = max(p.checkedUpTo, next); p.checkedUpTo < at; p.checkedUpTo++ {
		if known, found := p.before[NameOf(p.list[p.checkedUpTo])]; found && known > i {
			return 0, false
		}
	}
	return at, true
}

// Groups sorts the pods of successive states into groups. For each state it looks only at the pods that changed.
type Groups[K comparable] struct {
	keys   func(*v1.Pod) []K
	pods   []*v1.Pod
	places map[*v1.Pod]int // in the order of the pods in the list; places may have gaps
	last   int
	groups map[K]*Group
}

// Group holds pods in the order of the state. It is immutable: when one of its pods changes, a new Group takes its place.
type Group struct{ pods []*v1.Pod }

// Pods returns the pods of the group. A nil group has none.
func (g *Group) Pods() []*v1.Pod {
	if g == nil {
		return nil
	}
	return g.pods
}

// NewGroups returns empty Groups. The function keys returns the groups to which a pod belongs.
func NewGroups[K comparable](keys func(*v1.Pod) []K) *Groups[K] {
	return &Groups[K]{keys: keys, places: map[*v1.Pod]int{}, groups: map[K]*Group{}}
}

// Lookup returns the group with that key, or nil if it has no pods.
func (g *Groups[K]) Lookup(key K) *Group { return g.groups[key] }

// Update updates the groups to the pods of a state, and returns the keys of the groups that changed, in no particular order.
func (g *Groups[K]) Update(pods []*v1.Pod) (others []K) {
	gone := map[*v1.Pod]bool{}
	came := map[K][]*v1.Pod{}    // the new pods of each group that changes, in order
	added, first := 0, len(pods) // number of new pods, and the index of the first of them
	VisitChanges(g.pods, pods, func(was, is *v1.Pod, position int) {
		at := g.last + 1
		if was != nil {
			at = g.places[was]
			delete(g.places, was)
			gone[was] = true
			for _, key := range g.keys(was) {
				if _, changes := came[key]; !changes {
					came[key] = nil
				}
			}
		}
		if is != nil {
			if was == nil {
				added, first = added+1, min(first, position)
			}
			g.places[is] = at
			g.last = max(g.last, at)
			for _, key := range g.keys(is) {
				came[key] = append(came[key], is)
			}
		}
	})
	if first < len(pods)-added { // pods that are not new come after it
		for i, pod := range pods {
			g.places[pod] = i
		}
		g.last = len(pods) - 1
	}
	g.pods = pods
	for key, pods := range came {
		before := g.groups[key].Pods()
		kept := list.Without(before, func(pod *v1.Pod) bool { return gone[pod] })
		merged := make([]*v1.Pod, 0, len(kept)+len(pods))
		for _, pod := range pods {
			i, _ := slices.BinarySearchFunc(kept, pod, g.Compare)
			merged = append(append(merged, kept[:i]...), pod)
			kept = kept[i:]
		}
		merged = append(merged, kept...)
		// VisitChanges reports pods that stay as gone and later as new if the lists have other pods in another order.
		if slices.Equal(merged, before) {
			continue
		}
		others = append(others, key)
		if g.groups[key] = (&Group{merged}); len(merged) == 0 {
			delete(g.groups, key)
		}
	}
	return others
}

// Compare compares two pods by their places in the state.
func (g *Groups[K]) Compare(a, b *v1.Pod) int { return g.places[a] - g.places[b] }
