package memo

import (
	"math"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// rejections are the different statuses with which filters reject nodes, each kept once: one taint rejects thousands of nodes for each
// template. The first status is nil, so that the number 0 means no rejection.
type rejections struct {
	statuses []*fwk.Status
	last     []uint16 // by filter: the number of its last status, which is usually that of the next, too
	numbers  map[rejectionKey]uint16
}

type rejectionKey struct {
	filter  int
	code    fwk.Code
	reasons string
}

func newRejections(filters int) rejections {
	return rejections{statuses: []*fwk.Status{nil}, last: make([]uint16, filters), numbers: map[rejectionKey]uint16{}}
}

// intern returns the number of the filter's status. It reports false if the 65,535 numbers are used up.
func (r *rejections) intern(filter int, status *fwk.Status) (uint16, bool) {
	if last := r.statuses[r.last[filter]]; last != nil && last.Code() == status.Code() && slices.Equal(last.Reasons(), status.Reasons()) {
		return r.last[filter], true
	}
	key := rejectionKey{filter, status.Code(), strings.Join(status.Reasons(), "\x00")}
	place, found := r.numbers[key]
	if !found {
		if len(r.statuses) > math.MaxUint16 {
			return 0, false
		}
		place = uint16(len(r.statuses))
		r.statuses = append(r.statuses, status)
		r.numbers[key] = place
	}
	r.last[filter] = place
	return place, true
}
