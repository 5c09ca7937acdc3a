package decider

import (
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/faultline/faultline/pkg/cluster"
)

// MergePatch returns the resource after a JSON merge patch of its status, or of everything else.
func MergePatch(r *cluster.CustomResource, patch []byte, status bool) (*cluster.CustomResource, error) {
	before, err := r.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	merged := &cluster.CustomResource{}
	if err := merged.UnmarshalJSON(after); err != nil {
		return nil, err
	}
	patched, other := merged, r
	if status {
		patched, other = r.DeepCopyObject().(*cluster.CustomResource), merged
	}
	SetStatusOf(patched, other)
	return patched, nil
}

// SetStatusOf gives the resource the status of another version of it.
func SetStatusOf(r, other *cluster.CustomResource) {
	if kept, found := other.Object["status"]; found {
		r.Object["status"] = kept
	} else {
		delete(r.Object, "status")
	}
}
