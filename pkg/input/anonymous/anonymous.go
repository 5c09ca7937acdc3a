// Package anonymous replaces the names in a dump, so that its owner can give it to others and questions about it still have the same
// answers.
//
//	objects ─ walk ──▶ every name, label, image …    walk.go, with the table of fields in fields.go
//	        ─ words ─▶ their words, sorted           words.go
//	        ─ walk ──▶ the same objects in new words
//
// A word becomes the same new word wherever it stands, so references and selectors still match. The new words sort as the old ones do,
// because names decide if everything else is equal. The new words depend only on this order: there is no key with which somebody could
// guess the old ones.
package anonymous

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/words"
)

// Dump is a dump without its names.
type Dump struct {
	// Objects are the objects as JSON, in the given order.
	Objects []json.RawMessage
	// Notes say which objects are left out, and which facts the dump still shows.
	Notes []string

	words *vocabulary
}

// remainingFacts lists the facts that a reader of the dump still learns.
var remainingFacts = []string{
	"It still shows how many objects there are and how they belong together, their times, versions, sizes, requests, priorities and conditions.",
	"It keeps numbers of up to four digits in names, as in web-0, rack-12 and 10-0-3-17; names keep their order and the places of their dashes and dots.",
	"It keeps public label keys, resources and drivers, as of kubernetes.io, aws.com and nvidia.com; architectures, time zones and schedules of CronJobs; " +
		"and the attributes of devices with the expressions that select them, but for private drivers and domains in them.",
}

// NewDump returns the objects without their names. It leaves out policies, because their expressions can contain names.
func NewDump(ctx context.Context, objects []cluster.Object) (*Dump, error) {
	dump := &Dump{words: newVocabulary()}
	left := map[string]int{}
	var trees []typedObject
	for _, obj := range objects {
		kind := cluster.KindOf(obj)
		if _, param := obj.(*cluster.Param); param || strings.HasPrefix(kind, "ValidatingAdmission") || strings.HasPrefix(kind, "MutatingAdmission") {
			left[kind]++
			continue
		}
		data, err := manifest.Encode(obj)
		if err != nil {
			return nil, err
		}
		trees = append(trees, typedObject{reflect.TypeOf(obj).Elem(), data})
	}
	// The first walk finds the words, and the second replaces them.
	for i := range trees {
		if _, err := trees[i].replaceWords(dump.words); err != nil {
			return nil, err
		}
	}
	dump.words.assignNewWords()
	dump.Objects = make([]json.RawMessage, len(trees))
	err := parallel.Each(ctx, len(trees), parallel.Options{Block: 64}, func(_ context.Context, _, i int) (err error) {
		dump.Objects[i], err = trees[i].replaceWords(dump.words)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		dump.Notes = append(dump.Notes, fmt.Sprintf("Left out, because their expressions can contain names: %s.", words.Count(left[kind], kind)))
	}
	dump.Notes = append(dump.Notes, remainingFacts...)
	return dump, nil
}

// typedObject is an object as JSON, with its type.
type typedObject struct {
	goType reflect.Type
	json   []byte
}

// replaceWords returns the object with new words. While the vocabulary is open, it only collects the words.
func (t typedObject) replaceWords(v *vocabulary) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(t.json))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal((&walker{v}).replaceObject(t.goType, value))
}
