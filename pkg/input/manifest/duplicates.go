package manifest

import (
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// addObject adds an object, unless the set has it. A dump can have an object in several files, which were written one after the other: then
// the newer version counts. In manifests, an object that occurs twice is an error, even if both are equal: one is often a copy that
// somebody forgot to change.
func (c *collection) addObject(obj Object) {
	id := cluster.RefTo(obj.Object)
	at, found := c.at[id]
	if !found {
		if c.at == nil {
			c.at = map[cluster.Ref]int{}
		}
		c.at[id] = len(c.set.Objects)
		c.set.Objects = append(c.set.Objects, obj)
		return
	}
	first := c.set.Objects[at]
	older := obj
	switch newer, both := compareVersions(obj.GetResourceVersion(), first.GetResourceVersion()); {
	case (both || mayRepeat(first, obj)) && apiequality.Semantic.DeepEqual(first.Object, obj.Object):
		return
	case !both:
		c.errs = append(c.errs, obj.Source.errorf("%s: already defined in %s; remove or rename one of them", id.Describe(), first.Source))
		return
	case newer:
		c.set.Objects[at], older = obj, first
	}
	problem := "the input has a newer version of it"
	if first.GetResourceVersion() == obj.GetResourceVersion() {
		problem = "the input has another text of the same version, which comes first"
	}
	c.set.Older = append(c.set.Older, Flaw{Ref: id, Problem: problem, Aside: true, Source: older.Source})
}

// mayRepeat reports whether two objects of one name may be the same object, although at least one has no version of an API server. A tool
// that tidies dumps drops versions, and Helm charts and kustomizations bring the same namespace along.
func mayRepeat(first, second Object) bool {
	_, namespace := first.Object.(*v1.Namespace)
	return namespace || admission.GivenUID(first.Object) != "" && first.GetUID() == second.GetUID()
}

// addIgnored adds an object of a kind that takes no part in scheduling, unless a dump has it twice.
func (c *collection) addIgnored(ignored Ignored) {
	id := ignoredID{ignored.APIVersion, ignored.Ref}
	at, found := c.ignoredAt[id]
	if !found || ignored.Name == "" {
		if c.ignoredAt == nil {
			c.ignoredAt = map[ignoredID]int{}
		}
		c.ignoredAt[id] = len(c.set.Ignored)
		c.set.Ignored = append(c.set.Ignored, ignored)
		return
	}
	switch newer, both := compareVersions(ignored.ResourceVersion, c.set.Ignored[at].ResourceVersion); {
	case !both:
		c.set.Ignored = append(c.set.Ignored, ignored)
	case newer:
		c.set.Ignored[at] = ignored
	}
}

// ignoredID identifies an object of any kind.
type ignoredID struct {
	apiVersion string
	cluster.Ref
}

// compareVersions reports whether a resource version is newer than another one, and whether both are versions of an API server.
func compareVersions(version, than string) (newer, both bool) {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0, err == nil
}
