package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key is an object's namespace and name.
type key struct{ namespace, name string }

func keyOf(obj metav1.Object) key { return key{obj.GetNamespace(), obj.GetName()} }

// applyMixed does the same as [applyObjects] for a short list of objects of several kinds.
func applyMixed[T Object](c deriveMode, list, given []T) []T {
	if len(given) == 0 {
		return list
	}
	last := make(map[Ref]T, len(given))
	for _, obj := range given {
		last[RefTo(obj)] = obj
	}
	var next []T
	placed := map[Ref]bool{}
	for _, obj := range slices.Concat(list, given) {
		ref := RefTo(obj)
		if of, found := last[ref]; !found {
			next = append(next, obj)
		} else if c.merge && !placed[ref] {
			next, placed[ref] = append(next, of), true
		}
	}
	return next
}

// nameHashes has a hash of the end of each object's name, in the order of the list. These numbers lie side by side in memory, so finding a few
// objects among many is much faster by them than by the objects.
type nameHashes[T metav1.Object] struct {
	list   []T
	hashes []uint16
}

// apply returns the list with the given objects added or removed, and its endings. It computes the endings anew if they belong to another
// list, as in a state whose list was replaced.
func (e nameHashes[T]) apply(c deriveMode, list, given []T) ([]T, nameHashes[T]) {
	if !SameSlice(e.list, list) {
		e.hashes = hashNames(list)
	}
	next, numbers := applyObjects(c, list, e.hashes, given)
	return next, nameHashes[T]{next, numbers}
}

// hashNames returns the ending of each object's name.
func hashNames[T metav1.Object](list []T) []uint16 {
	numbers := make([]uint16, len(list))
	for i, obj := range list {
		numbers[i] = hashName(obj.GetName())
	}
	return numbers
}

// hashName returns a hash of the last five characters of a name: the pods of one controller differ in these.
func hashName(name string) uint16 {
	number := uint32(0)
	for _, char := range []byte(name[max(0, len(name)-5):]) {
		number = number*31 + uint32(char)
	}
	return uint16(number ^ number>>16)
}

// applyObjects returns the list with the given objects added or removed, and its endings.
func applyObjects[T metav1.Object](c deriveMode, list []T, endings []uint16, given []T) ([]T, []uint16) {
	var wanted [1 << 16 / 64]uint64 // a bit for each ending of the given objects
	last := make(map[key]int, len(given))
	for i, obj := range given {
		last[keyOf(obj)] = i // the last one counts
		ending := hashName(obj.GetName())
		wanted[ending/64] |= 1 << (ending % 64)
	}
	next, numbers := make([]T, 0, len(list)+len(given)), slices.Clip(endings) // a replaced object keeps its name, and so its ending
	if !c.merge {
		numbers = make([]uint16, 0, len(list))
	}
	replaced := make([]bool, len(given))
	from := 0 // objects that stay are copied in runs
	for at, ending := range endings {
		if wanted[ending/64]&(1<<(ending%64)) == 0 {
			continue
		}
		i, found := last[keyOf(list[at])]
		if !found || replaced[i] {
			continue
		}
		next = append(next, list[from:at]...)
		if c.merge {
			next = append(next, given[i])
			replaced[i] = true
		} else {
			numbers = append(numbers, endings[from:at]...)
		}
		from = at + 1
	}
	next = append(next, list[from:]...)
	if !c.merge {
		numbers = append(numbers, endings[from:]...)
	} else {
		for i, obj := range given {
			if last[keyOf(obj)] == i && !replaced[i] {
				next, numbers = append(next, obj), append(numbers, hashName(obj.GetName()))
			}
		}
	}
	return next, numbers
}
