package memo

import (
	"fmt"
	"math"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// Rejections with the same text have the same number. When the numbers are used up, there is none for a new rejection.
func TestRejections(t *testing.T) {
	all := newRejections(2)
	place := func(filter int, code fwk.Code, reasons ...string) uint16 {
		t.Helper()
		status := fwk.NewStatus(code, reasons...)
		at, kept := all.intern(filter, status)
		if !kept {
			t.Fatalf("no place for %v", status)
		}
		if known := all.statuses[at]; known.Code() != code || fmt.Sprint(known.Reasons()) != fmt.Sprint(reasons) {
			t.Errorf("%v is kept for %v", known, status)
		}
		return at
	}
	first := place(0, fwk.Unschedulable, "a")
	for name, test := range map[string]struct {
		at   uint16
		same bool
	}{
		"the same":          {place(0, fwk.Unschedulable, "a"), true},
		"another reason":    {place(0, fwk.Unschedulable, "b"), false},
		"the same later":    {place(0, fwk.Unschedulable, "a"), true},
		"two reasons":       {place(0, fwk.Unschedulable, "a", "b"), false},
		"another code":      {place(0, fwk.UnschedulableAndUnresolvable, "a"), false},
		"of another filter": {place(1, fwk.Unschedulable, "a"), false},
	} {
		if same := test.at == first; same != test.same {
			t.Errorf("%s: the same place is %t, want %t", name, same, test.same)
		}
	}
	if all.statuses[0] != nil {
		t.Errorf("the first is %v", all.statuses[0])
	}
	for i := len(all.statuses); i <= math.MaxUint16; i++ {
		place(0, fwk.Unschedulable, fmt.Sprint(i))
	}
	if at, kept := all.intern(0, fwk.NewStatus(fwk.Unschedulable, "one too many")); kept {
		t.Errorf("one more is kept at %d", at)
	}
	if at := place(0, fwk.Unschedulable, "a"); at != first {
		t.Errorf("the first is now at %d, and was at %d", at, first)
	}
}
