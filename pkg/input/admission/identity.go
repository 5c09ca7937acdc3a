package admission

import (
	"fmt"
	"hash/fnv"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/faultline/faultline/pkg/cluster"
)

// identify gives an object from a file the namespace, name and UID that an API server would give it. These derive from the object and its
// place in the file, so that they are the same in every run.
func identify(obj cluster.Object, source string) {
	kind := cluster.KindOf(obj)
	obj.SetManagedFields(usedManagedFields(obj))
	if cluster.Namespaced(kind) && obj.GetNamespace() == "" {
		obj.SetNamespace(v1.NamespaceDefault)
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		hash := fnv.New32a()
		hash.Write([]byte(source))
		obj.SetName(obj.GetGenerateName() + rand.SafeEncodeString(fmt.Sprint(hash.Sum32())))
	}
	if obj.GetUID() == "" {
		obj.SetUID(generatedUID(obj))
	}
}

// generatedUID returns the UID of an object whose file has no UID.
func generatedUID(obj cluster.Object) types.UID {
	what := fmt.Sprintf("%s/%s/%s", cluster.KindOf(obj), obj.GetNamespace(), obj.GetName())
	return types.UID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(what)).String())
}

// GivenUID returns the UID that the object has in its file, such as a dump of a cluster, and "" if the file has none.
func GivenUID(obj cluster.Object) types.UID {
	if obj.GetUID() == generatedUID(obj) {
		return ""
	}
	return obj.GetUID()
}

// UID returns the UID of an object that controllers create, where created counts the objects created so far.
func UID(kind, namespace, name string, created int) types.UID {
	return types.UID(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s/%s/%d", kind, namespace, name, created)).String())
}

// GenerateName appends five characters of Kubernetes' own alphabet to the base, as the API server does for generateName. Each n gives
// another name, up to 27⁵ = 14,348,907 names for a base.
func GenerateName(base string, n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789" // k8s.io/apimachinery/pkg/util/rand
	const all = 27 * 27 * 27 * 27 * 27
	const stride = 8_869_961 // coprime to 27, so that no name repeats before all have been used
	hash := fnv.New32a()
	hash.Write([]byte(base))
	x := (uint64(hash.Sum32()) + uint64(n)*stride) % all
	var suffix [5]byte
	for i := range suffix {
		suffix[i] = alphabet[x%27]
		x /= 27
	}
	return base[:min(len(base), names.MaxGeneratedNameLength)] + string(suffix[:])
}
