// Package manifest turns bytes into Kubernetes objects, as strictly as the API server does.
//
// A file goes through four stations:
//
//	bytes ─ split ──▶ documents        (YAML or JSON, several to a file)          split.go
//	      ─ expand ─▶ items            (the objects of a List or a snapshot)      expand.go
//	      ─ decode ─▶ external objects (unknown and duplicate fields are refused) decode.go
//	      ─ create ─▶ valid objects    (defaults and validation of kube-apiserver) package admission
//
// All this is done by upstream's code, so an object that is refused here is refused by a real API server too, in the same words. A dump of a live cluster keeps what the scheduler looks at: the status of nodes, pods and
// volumes, the node of each pod, and the owners; what cannot be read of it is a flaw of the set, and no error.
package manifest

import (
	"errors"
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
)

// Object is one object and where it came from. It is of the type that a cluster.State holds for its kind, whatever version it
// was written in; it has its defaults, a namespace (if its kind has one), a name and a UID, and has passed validation. Its
// apiVersion and kind are empty, as in objects that client-go hands out.
type Object struct {
	cluster.Object
	Source Source
	// PodGroup is the name of the group that its pods name, if it was dropped: an API server keeps it only under the feature gate
	// GenericWorkload.
	PodGroup string
}

// Source is where an object stands.
type Source struct {
	// File is the path as it was given; "-" is the standard input.
	File string `json:"file"`
	// Line is the line of the file on which the document begins, from 1.
	Line int `json:"line"`
	// Document is the number of the document in the file, from 1, empty documents not counted; missing if it is the only one.
	Document int `json:"document,omitempty"`
	// Path is the place in the document, such as items[3] in a List or pods[0] in a snapshot; missing for the document itself.
	Path string `json:"path,omitempty"`
}

// String returns the source as it stands at the beginning of an error: "deploy.yaml: document 2: items[3]".
func (s Source) String() string {
	text := s.File
	if text == Stdin {
		text = "standard input"
	}
	if s.Document > 0 {
		text += fmt.Sprintf(": document %d", s.Document)
	}
	if s.Path != "" {
		text += ": " + s.Path
	}
	return text
}

func (s Source) errorf(format string, args ...any) error {
	return errors.New(Problem(fmt.Sprintf("%s: %s", s, fmt.Sprintf(format, args...))))
}

// Ignored is an object of a kind that takes no part in scheduling, such as a ConfigMap or a custom resource.
type Ignored struct {
	APIVersion string
	cluster.Ref
	// JSON is the whole object if its API group is not one of Kubernetes' own, so that an operator's resource can be
	// expanded; nil otherwise, since a Secret is nobody's business.
	JSON   []byte
	Source Source
}

// Raw is a document that is left to another package.
type Raw struct {
	// Data is the document as it was written, YAML or JSON.
	Data   []byte
	Source Source
}

// Flaw is something in the dump of a cluster that this release does not know or would not take. Another release did, so that it is no
// mistake, and the rest of the dump is as good as ever.
type Flaw struct {
	cluster.Ref
	// Problem is the error that it would be in a manifest.
	Problem string
	// Aside says that the object is left out; otherwise it was read without what is unknown in it.
	Aside  bool
	Source Source
}

// Error returns the flaw as the error that it would be in a manifest.
func (f Flaw) Error() string {
	return fmt.Sprintf("%s: %s: %s", f.Source, f.Describe(), f.Problem)
}

// Set is what a group of files holds, in the order in which it was read.
type Set struct {
	Objects []Object
	Ignored []Ignored
	// Flaws are what is the matter with objects of a dump.
	Flaws []Flaw
	// SchedulerConfigs are the documents of kind KubeSchedulerConfiguration.
	SchedulerConfigs []Raw
	// Kind says that a kind cluster configuration is among the documents; its nodes are among the objects.
	Kind bool
}

// Decode decodes the content of one file: YAML with any number of documents, JSON objects one after the other, Lists of any
// kind, kind cluster configurations, and snapshots of kube-scheduler-simulator. The file's name is only used to say where
// things are. The error has one line for each problem; a file without any object is one.
func Decode(file string, data []byte) (*Set, error) {
	var c collection
	if c.decode(file, data) == 0 && len(c.errs) == 0 {
		c.errs = append(c.errs, noObjects(file))
	}
	return c.result()
}

// DecodeObject decodes the one object that the data holds, JSON or YAML. The label says where it stands and takes the place
// of the file, as in "scenario.yaml: steps[2].apply.objects[0]".
func DecodeObject(label string, data []byte) (Object, error) {
	set, err := Decode(label, data)
	if err != nil {
		return Object{}, err
	}
	if err := set.Strict(); err != nil {
		return Object{}, err
	}
	for _, ignored := range set.Ignored {
		return Object{}, ignored.Source.errorf("%s of %s takes no part in scheduling; leave it out", ignored.Kind, ignored.APIVersion)
	}
	if len(set.Objects) != 1 || len(set.SchedulerConfigs) != 0 {
		return Object{}, Source{File: label}.errorf("%d objects where one is wanted; give each its own place", len(set.Objects)+len(set.SchedulerConfigs))
	}
	return set.Objects[0], nil
}

// Strict returns the flaws as an error, a line for each, or nil.
func (s *Set) Strict() error {
	var errs []error
	for _, flaw := range s.Flaws {
		errs = append(errs, flaw)
	}
	return join(errs)
}

func noObjects(file string) error {
	return Source{File: file}.errorf("no Kubernetes object in it; give a file that has at least one")
}

// maxErrors is how many problems are listed; a dump of a newer cluster can have the same one in each of its pods.
const maxErrors = 100

// join returns an error of one line for each of the errors, or nil.
func join(errs []error) error {
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors:maxErrors], fmt.Errorf("%d more problems of this kind; only the first %d are listed", more, maxErrors))
	}
	return errors.Join(errs...)
}
