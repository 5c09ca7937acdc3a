package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The search checks that every smaller count fits, and does not assume it: the answer is below the smallest count found not to fit.
func TestCheckFindsWhatIsUneven(t *testing.T) {
	for _, test := range []struct {
		name  string
		fits  []int // besides 0
		first int
		want  int
		found []Uneven
	}{
		{"even", []int{1, 2, 3, 4, 5, 6, 7}, 7, 7, nil},
		{"one below does not", []int{1, 2, 3, 4, 5, 7}, 7, 5, []Uneven{{Fits: 7, DoesNot: 6}}},
		{"one above does", []int{1, 2, 3, 4, 5, 7}, 5, 5, []Uneven{{Fits: 7, DoesNot: 6}}},
		{"the next does by itself", []int{1, 2, 3}, 2, 3, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			fits := map[int]bool{0: true}
			for _, units := range test.fits {
				fits[units] = true
			}
			try := func(units int) (*verdict, error) { return &verdict{units: units, excess: 1, fits: fits[units]}, nil }
			s := &search{known: map[int]*verdict{}, grow: func(units int, _ bool) (*verdict, error) { return try(units) }, alone: try, podsPerUnit: 1, budget: maxCheckedPods}
			limit := &Limit{More: test.first}
			found, err := s.checkAround(limit, 1)
			if err != nil {
				t.Fatal(err)
			}
			if limit.More != test.want {
				t.Errorf("%d fit, want %d", limit.More, test.want)
			}
			if diff := cmp.Diff(test.found, found); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The end is a count that does not fit, or one beyond the largest that is tried.
func TestEnd(t *testing.T) {
	for fits := range 12 {
		try := func(units int) (*verdict, error) { return &verdict{units: units, fits: units <= fits}, nil }
		s := &search{known: map[int]*verdict{}, grow: func(units int, _ bool) (*verdict, error) { return try(units) }}
		got, err := s.findUpperEnd(2, 8)
		if err != nil {
			t.Fatal(err)
		}
		if fits >= 8 && got != 9 || fits < 8 && (got <= fits || got > 8) {
			t.Errorf("the end is %d, where %d fit", got, fits)
		}
	}
}

// A search on counts alone ends one below the first that does not fit, however wrong the guesses are.
func TestBetween(t *testing.T) {
	for most := range 40 {
		for excess := range 5 {
			try := func(units int) (*verdict, error) {
				return &verdict{units: units, excess: 1 + 7*excess, fits: units <= most}, nil
			}
			s := &search{known: map[int]*verdict{}, grow: func(units int, _ bool) (*verdict, error) { return try(units) }, alone: try, podsPerUnit: 1}
			got, err := s.bisect(0, 50, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got != most {
				t.Errorf("%d, want %d", got, most)
			}
		}
	}
}
