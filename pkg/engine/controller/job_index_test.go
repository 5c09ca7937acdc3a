package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

func TestIndexes(t *testing.T) {
	tests := []struct {
		text        string
		completions int
		want        string
		total       int
		lacking     []int // the first three
	}{
		{"", 5, "", 0, []int{0, 1, 2}},
		{"", 2, "", 0, []int{0, 1}},
		{"0", 5, "0", 1, []int{1, 2, 3}},
		{"0,1", 5, "0,1", 2, []int{2, 3, 4}},
		{"0,1,2", 5, "0-2", 3, []int{3, 4}},
		{"1,3-4", 7, "1,3,4", 3, []int{0, 2, 5}},
		{"0-9", 5, "0-4", 5, nil},
		{"4-9,7", 5, "4", 1, []int{0, 1, 2}},
		{"0-999999999", 2_000_000_000, "0-999999999", 1_000_000_000, []int{1_000_000_000, 1_000_000_001, 1_000_000_002}},
		{"a,1-b,3-2,2", 5, "2", 1, []int{0, 1, 3}},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			x := parseIndexes(test.text, test.completions)
			type found struct {
				Text    string
				Total   int
				Lacking []int
			}
			got, want := found{x.String(), x.total(), x.firstMissing(test.completions, 3)}, found{test.want, test.total, test.lacking}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			for _, index := range test.lacking {
				if x.has(index) {
					t.Errorf("has %d", index)
				}
			}
			for _, iv := range x {
				if !x.has(iv.first) || !x.has(iv.last) {
					t.Errorf("lacks an end of %v", iv)
				}
			}
		})
	}
}

func TestSuccessPolicy(t *testing.T) {
	rule := func(indexes string, count int32) batchv1.SuccessPolicyRule {
		var r batchv1.SuccessPolicyRule
		if indexes != "" {
			r.SucceededIndexes = &indexes
		}
		if count > 0 {
			r.SucceededCount = ptr.To(count)
		}
		return r
	}
	tests := []struct {
		name, succeeded string
		rules           []batchv1.SuccessPolicyRule
		want            string
	}{
		{"nothing has succeeded", "", []batchv1.SuccessPolicyRule{rule("0", 0)}, ""},
		{"all of the indexes", "0-2,5", []batchv1.SuccessPolicyRule{rule("0,2", 0)}, "Matched rules at index 0"},
		{"not all of them", "0,5", []batchv1.SuccessPolicyRule{rule("0,2", 0)}, ""},
		{"enough of them", "0,5", []batchv1.SuccessPolicyRule{rule("0,2", 1)}, "Matched rules at index 0"},
		{"enough, but of others", "4,5", []batchv1.SuccessPolicyRule{rule("0,2", 1)}, ""},
		{"enough of any", "4,5", []batchv1.SuccessPolicyRule{rule("", 2)}, "Matched rules at index 0"},
		{"the second rule", "4,5", []batchv1.SuccessPolicyRule{rule("", 3), rule("4", 0)}, "Matched rules at index 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := metSuccessPolicy(&batchv1.SuccessPolicy{Rules: test.rules}, parseIndexes(test.succeeded, 6), 6); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := metSuccessPolicy(nil, parseIndexes("0", 1), 1); got != "" {
		t.Errorf("without a policy: %q", got)
	}
}
