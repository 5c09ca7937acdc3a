package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// The state before a stretch is certain, so it makes no difference where stretches begin: a stretch for each group, or one for all.
func TestStretchesChangeNothing(t *testing.T) {
	s, paths := loadRecorded(t, "history", "events.json")
	for name, sources := range map[string]Sources{"the dump": {}, "events": {Events: paths}} {
		history, err := ReadHistory(sources)
		if err != nil {
			t.Fatal(err)
		}
		var judged [][]Placement
		for _, stretch := range []int{1, 1_000_000} {
			result, err := Run(t.Context(), s, Options{History: history, stretchSize: stretch})
			if err != nil {
				t.Fatal(err)
			}
			judged = append(judged, result.Placements)
		}
		byName := cmp.Transformer("name", func(pod *v1.Pod) string { return pod.Name })
		if diff := cmp.Diff(judged[1], judged[0], byName, cmp.AllowUnexported(Divergence{})); diff != "" {
			t.Errorf("%s: of all in one stretch against each group for itself (-want +got):\n%s", name, diff)
		}
	}
}

// The first pod ended in the second in which b came, so it is not certain whether it ended before, and c must not be judged without b.
// Before d it is certain.
func TestStretchesBeginWhereEndsAreCertain(t *testing.T) {
	pod := func(name string, second int) *podLife {
		at := time.Date(2025, time.March, 1, 10, 0, second, 0, time.UTC)
		l := &podLife{at: at, lo: at, hi: at.Add(time.Second - 1), endsUntilTerminating: neverEnds, endsUntilGone: neverEnds}
		l.name.Name = name
		return l
	}
	first, b, c, d := pod("first", 1), pod("b", 2), pod("c", 3), pod("d", 4)
	first.gone, first.endsUntilGone = &podEnd{life: first, gone: true, at: b.at, lo: b.lo, hi: b.hi}, 0
	r := &replay{opts: Options{stretchSize: 1}, ends: []*podEnd{first.gone}}
	type begun struct {
		At, Ends int
		Bound    []string
	}
	var got []begun
	groups := [][]*podLife{{first}, {b}, {c}, {d}}
	at := 0
	for _, s := range r.divideIntoStretches(groups) {
		is := begun{At: at, Ends: s.endCount}
		for _, l := range s.bound {
			is.Bound = append(is.Bound, l.name.Name)
		}
		got, at = append(got, is), at+len(s.groups)
	}
	want := []begun{{}, {At: 1, Bound: []string{"first"}}, {At: 3, Ends: 1, Bound: []string{"b", "c"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
