package memo

import (
	"math"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// rejections are what filters have said of nodes, each once: for a taint, one rejects thousands of nodes for each template. The first is nil.
type rejections struct {
	all    []*fwk.Status
	last   []uint16 // by filter; usually the next is the same
	places map[rejectionKey]uint16
}

type rejectionKey struct {
	filter  int
	code    fwk.Code
	reasons string
}

func newRejections(filters int) rejections {
	return rejections{all: []*fwk.Status{nil}, last: make([]uint16, filters), places: map[rejectionKey]uint16{}}
}

// place returns the place of the filter's rejection, and whether there is one: there is room for so many.
func (r *rejections) place(filter int, status *fwk.Status) (uint16, bool) {
	if last := r.all[r.last[filter]]; last != nil && last.Code() == status.Code() && slices.Equal(last.Reasons(), status.Reasons()) {
		return r.last[filter], true
	}
	key := rejectionKey{filter, status.Code(), strings.Join(status.Reasons(), "\x00")}
	place, found := r.places[key]
	if !found {
		if len(r.all) > math.MaxUint16 {
			return 0, false
		}
		place = uint16(len(r.all))
		r.all = append(r.all, status)
		r.places[key] = place
	}
	r.last[filter] = place
	return place, true
}
