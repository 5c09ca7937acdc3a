// Package manifest turns bytes into Kubernetes objects, as strictly as the API server does.
//
// A file goes through four stations:
//
//	bytes ─ split ──▶ documents        (YAML or JSON, several to a file)          split.go
//	      ─ expand ─▶ items            (the objects of a List or a snapshot)      expand.go
//	      ─ decode ─▶ external objects (unknown and duplicate fields are refused) decode.go
//	      ─ create ─▶ valid objects    (defaults and validation of kube-apiserver) package admission
//
// Upstream's code does all this, so a real API server would refuse the same objects in the same words. Objects of a dump keep the fields
// that the scheduler reads: the status of nodes, pods and volumes, the node of each pod, and the owners. An invalid part of a dump is a
// flaw of the set, not an error.
package manifest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
)

// Object is one object and its source. It has the type that a cluster.State holds for its kind, regardless of the version in the file. It
// has its defaults, a namespace (if its kind has one), a name and a UID, and has passed validation. Its apiVersion and kind are empty, as
// in objects that client-go returns.
type Object struct {
	cluster.Object
	Source Source
	// PodGroup is the pod group that the object's pods name, if the API server would drop the name: it keeps the name only under the
	// feature gate GenericWorkload.
	PodGroup string
}

// Source is the place of an object in a file.
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

// String returns the source as errors begin with it: "deploy.yaml: document 2: items[3]".
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

// Place returns the file and the line, from 1.
func (s Source) Place() *Place { return &Place{File: s.File, Line: max(1, s.Line)} }

// Place is a line of a file.
type Place struct {
	// File is the path as it was given.
	File string `json:"file"`
	// Line is the line, from 1.
	Line int `json:"line"`
}

func (s Source) errorf(format string, args ...any) error {
	return errors.New(RewordProblem(fmt.Sprintf("%s: %s", s, fmt.Sprintf(format, args...))))
}

// Ignored is an object of a kind that takes no part in scheduling, such as a ConfigMap or a custom resource.
type Ignored struct {
	APIVersion string
	cluster.Ref
	// ResourceVersion is the version of the object in an API server, if it has one.
	ResourceVersion string
	// JSON is the whole object if another package may need it: if its API group is not one of Kubernetes' own, so that an operator can
	// expand it, or if it is a ConfigMap (which can be the parameter of a policy), a configuration of webhooks, or an Event that
	// warns or is FailedScheduling. Otherwise it is nil, so that Secrets are not stored.
	JSON   []byte
	Source Source
}

// Raw is a document that another package decodes.
type Raw struct {
	// Data is the document as it was written, YAML or JSON.
	Data   []byte
	Source Source
}

// Flaw is a part of a dump that this release does not know or would refuse. The cluster's release accepted it, so it is not an error, and
// the rest of the dump is still valid.
type Flaw struct {
	cluster.Ref
	// Problem is the error that the flaw would be in a manifest.
	Problem string
	// Aside means that the object is left out. Otherwise it was read without its unknown fields.
	Aside bool
	// Field is the name of an invalid field, such as spec.podCIDRs, if the object was read without it. No pod is placed by this field.
	Field  string
	Source Source
}

// Describe returns the kind and name of the object, as errors show them.
func (f Flaw) Describe() string {
	if f.Kind == "" {
		return cluster.Ref{Kind: "object", Namespace: f.Namespace, Name: f.Name}.Describe()
	}
	return f.Ref.Describe()
}

// Error returns the error that the flaw would be in a manifest.
func (f Flaw) Error() string {
	return fmt.Sprintf("%s: %s: %s", f.Source, f.Describe(), f.Problem)
}

// Set is the content of a group of files, in the order in which they were read.
type Set struct {
	Objects []Object
	Ignored []Ignored
	// Flaws lists the flaws in objects of a dump.
	Flaws []Flaw
	// Older lists objects of a dump that are left out, since the dump has a newer version of the same object.
	Older []Flaw
	// Skipped lists the files of folders and archives that hold no object of Kubernetes.
	Skipped []Skipped
	// SchedulerConfigs lists the documents of kind KubeSchedulerConfiguration.
	SchedulerConfigs []Raw
	// Kind means that one of the documents is a kind cluster configuration. Objects has its nodes.
	Kind bool
}

// Decode decodes the content of one file. The file may hold YAML with any number of documents, JSON objects one after the other, Lists of
// any kind and arrays of objects, the output of kubectl cluster-info dump, kind cluster configurations, and snapshots of
// kube-scheduler-simulator. The file's name is used only in errors and sources. The error has one line for each problem; a file without any
// object is a problem.
func Decode(file string, data []byte) (*Set, error) {
	var c collection
	if c.decodeBytes(file, data) == 0 && len(c.errs) == 0 {
		c.errs = append(c.errs, noObjects(file))
	}
	return c.result()
}

// DecodeObject decodes data that is a single object, JSON or YAML. Errors show the label in place of the file, as in "scenario.yaml:
// steps[2].apply.objects[0]".
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

// Strict returns the flaws and the objects and files that were left out as an error with one line for each, or nil if there are none.
func (s *Set) Strict() error {
	var errs []error
	for _, flaw := range slices.Concat(s.Flaws, s.Older) {
		errs = append(errs, flaw)
	}
	for _, skipped := range s.Skipped {
		errs = append(errs, errors.New(skipped.Problem))
	}
	return joinErrors(errs)
}

func noObjects(file string) error {
	return Source{File: file}.errorf("no Kubernetes object in it; give a file that has at least one")
}

// maxErrors bounds the number of problems in an error. A dump of a newer cluster can have the same problem in each pod.
const maxErrors = 30

// joinErrors returns an error with one line for each of the errors, or nil if there are none.
func joinErrors(errs []error) error {
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors:maxErrors], fmt.Errorf("%d more problems of this kind; only the first %d are listed", more, maxErrors))
	}
	return errors.Join(errs...)
}
