package manifest

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// uuid matches the UIDs of API servers.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// separateUIDs gives objects that share a UID which is no UUID different ones, as a tool that redacts dumps writes <redacted> in place of each. Owner
// references with the shared UID then name their owners by kind and name.
func (s *Set) separateUIDs() {
	owners := map[types.UID]cluster.Ref{}
	shared := map[types.UID]bool{}
	for _, obj := range s.Objects {
		uid, ref := obj.GetUID(), cluster.RefTo(obj.Object)
		if first, known := owners[uid]; known && first != ref && !uuid.MatchString(string(uid)) {
			shared[uid] = true
		}
		owners[uid] = ref
	}
	delete(shared, "")
	if len(shared) == 0 {
		return
	}
	separate := func(uid types.UID, ref cluster.Ref) types.UID {
		if !cluster.Namespaced(ref.Kind) {
			ref.Namespace = ""
		}
		return uid + types.UID(" "+ref.Kind+" "+ref.Namespace+"/"+ref.Name)
	}
	for _, obj := range s.Objects {
		ref := cluster.RefTo(obj.Object)
		if uid := obj.GetUID(); shared[uid] {
			obj.SetUID(separate(uid, ref))
			s.Flaws = append(s.Flaws, Flaw{Ref: ref, Field: "metadata.uid", Problem: fmt.Sprintf("metadata.uid: Invalid value: %q: is the UID of other objects, too", uid), Source: obj.Source})
		}
		references := obj.GetOwnerReferences()
		for i := range references {
			if r := &references[i]; shared[r.UID] {
				r.UID = separate(r.UID, cluster.Ref{Kind: r.Kind, Namespace: ref.Namespace, Name: r.Name})
			}
		}
		obj.SetOwnerReferences(references)
	}
}

// linkOwners lets owner references find by kind and name the owners whose UIDs somebody has removed, as with yq 'del(.items[].metadata.uid)'. Otherwise a
// ReplicaSet would make its pods once more.
func (s *Set) linkOwners() {
	known, withoutUID := map[types.UID]bool{}, map[cluster.Ref]types.UID{}
	for _, obj := range s.Objects {
		known[obj.GetUID()] = true
		if admission.GivenUID(obj.Object) == "" {
			withoutUID[cluster.RefTo(obj.Object)] = obj.GetUID()
		}
	}
	for _, obj := range s.Objects {
		references := obj.GetOwnerReferences()
		changed := false
		for i := range references {
			owner := cluster.Ref{Kind: references[i].Kind, Namespace: obj.GetNamespace(), Name: references[i].Name}
			if !cluster.Namespaced(owner.Kind) {
				owner.Namespace = ""
			}
			if uid, found := withoutUID[owner]; found && !known[references[i].UID] {
				references[i].UID, changed = uid, true
			}
		}
		if changed {
			obj.SetOwnerReferences(references)
		}
	}
}
