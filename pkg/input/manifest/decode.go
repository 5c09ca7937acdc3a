package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/topology"
)

// outcome is the result of decoding an item.
type outcome struct {
	Set
	errs []error
	// foreign means that the item cannot be an object of Kubernetes.
	foreign bool
	page    *page // set for a List itself
}

// decode decodes an item's object. The item's kind decides how.
func (it item) decode() outcome {
	fail := func(format string, args ...any) outcome { return it.refuse("", fmt.Sprintf(format, args...)) }
	foreign := func(o outcome) outcome {
		o.foreign = len(o.errs) > 0 && (it.isNameless() || it.isComponentStatus())
		return o
	}
	if it.page != nil {
		return outcome{page: it.page}
	}
	if len(it.errs) > 0 {
		return outcome{errs: it.errs, foreign: it.noObject}
	}
	if it.header.APIVersion == "" || it.header.Kind == "" {
		if !it.dumped() || !it.inferKind() {
			if render := renderFile(it.source.File); render != "" && it.isNameless() {
				return foreign(fail("names the manifests of its folder and holds none; render them first: %s | simulate run -f -", render))
			}
			return foreign(fail("%s", it.describeMissingType()))
		}
	}
	h := it.header
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return fail("apiVersion %q is not of the form group/version", h.APIVersion)
	}
	known := admission.KindNamed(h.Kind)
	if it.dumped() {
		if o, decoded := it.decodeFormerVersion(gv.WithKind(h.Kind)); decoded {
			return o
		}
	}
	switch {
	case h.Kind == "Table" && gv.Group == "meta.k8s.io":
		return fail("Table of %s is for kubectl to print, and lacks most of its objects; use -o json, as kubectl get -o json does", h.APIVersion)
	case h.Kind == "PartialObjectMetadata" && gv.Group == "meta.k8s.io":
		return fail("PartialObjectMetadata of %s has only the metadata of an object; give what kubectl get -o json or -o yaml prints", h.APIVersion)
	case h.Kind == "Status" && h.APIVersion == "v1":
		return foreign(fail("Status of v1 is an answer of the API server that holds no object; give what kubectl get -o json or -o yaml prints"))
	case gv.Group == "faultline":
		return fail("%s of %s belongs to Faultline and is no manifest; give it as the scenario itself", h.Kind, h.APIVersion)
	case gv.Group == "kubescheduler.config.k8s.io" && h.Kind == "KubeSchedulerConfiguration":
		return outcome{Set: Set{SchedulerConfigs: []Raw{{Data: it.text, Source: it.source}}}}
	case gv.Group == "kind.x-k8s.io" && h.Kind == "Cluster":
		return it.decodeKind()
	case known != nil && known.Serves(gv):
		if problem := it.longSelector(); problem != "" {
			return it.refuse(h.describe(), problem)
		}
		return it.decodeObject(gv.WithKind(h.Kind))
	case known != nil && (gv.Group == "extensions" || admission.IsGroup(gv.Group)):
		return it.refuse(h.describe(),
			fmt.Sprintf("apiVersion %s has no %s in Kubernetes 1.37; use %s", h.APIVersion, h.Kind, known.GroupVersion()))
	case legacyscheme.Scheme.IsVersionRegistered(gv) && admission.IsGroup(gv.Group) && !legacyscheme.Scheme.Recognizes(gv.WithKind(h.Kind)):
		return foreign(fail("no kind %q in apiVersion %s%s", h.Kind, h.APIVersion, DidYouMean(h.Kind, listKinds(gv))))
	}
	ignored := Ignored{APIVersion: h.APIVersion, Ref: h.ref(), ResourceVersion: h.Metadata.ResourceVersion, Source: it.source}
	if !admission.IsGroup(gv.Group) || h.Kind == "ConfigMap" || h.Kind == "Event" && (bytes.Contains(it.json, []byte("Warning")) || bytes.Contains(it.json, []byte("FailedScheduling"))) || gv.Group == "admissionregistration.k8s.io" {
		ignored.JSON = slices.Clone(it.json)
	}
	return outcome{Set: Set{Ignored: []Ignored{ignored}}}
}

// refuse returns the outcome of an invalid item: an error with a line for each problem, or flaws if the item comes from an API server.
func (it item) refuse(subject string, problems ...string) (o outcome) {
	if subject != "" {
		subject += ": "
	}
	slices.Sort(problems)
	for _, problem := range slices.Compact(problems) {
		if it.dumped() {
			o.Flaws = append(o.Flaws, it.flaw(problem, true))
		} else {
			o.errs = append(o.errs, it.source.errorf("%s%s", subject, oneLine(problem)))
		}
	}
	return o
}

// dumped reports whether an API server has written the item: only an API server sets uid and resourceVersion.
func (it item) dumped() bool {
	return it.header.Metadata.UID != "" || it.header.Metadata.ResourceVersion != ""
}

func (it item) flaw(problem string, aside bool) Flaw {
	h := it.header
	return Flaw{Ref: h.ref(), Problem: oneLine(problem), Aside: aside, Source: it.source}
}

// describeMissingType returns the problem of an object without an apiVersion or a kind.
func (it item) describeMissingType() string {
	h := it.header
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	switch {
	case it.dumped():
		return "its apiVersion or kind is missing, and its fields do not show what it is"
	case h.Kind != "":
		return fmt.Sprintf("%s without an apiVersion; every object has both", h.Kind)
	case h.APIVersion == "v1" && json.Unmarshal(it.json, &list) == nil && len(list.Items) > 0:
		return "a List without its kind, which kubectl writes behind the items: the file is cut off; write or copy it anew"
	case h.APIVersion != "":
		return fmt.Sprintf("an object of %s without a kind; every object has both", h.APIVersion)
	}
	return "no apiVersion and no kind, so this is no Kubernetes object; leave the file out, or add both"
}

// decodeObject decodes an object of a kind that takes part in scheduling. If an object of a dump has invalid fields that no placement
// depends on, it decodes the object without them.
func (it item) decodeObject(gvk schema.GroupVersionKind) outcome {
	var flaws []Flaw
	for {
		o, problems := it.decodeTyped(gvk)
		if len(problems) == 0 {
			o.Flaws = append(flaws, o.Flaws...)
			return o
		}
		without, more, left := it.readTexts(gvk)
		if !left {
			without, more, left = it.dropIrrelevantFields(problems)
		}
		if !left {
			return it.refuse(it.header.describe(), problems...)
		}
		it, flaws = without, append(flaws, more...)
	}
}

// decodeTyped decodes the object as one of the kind. It returns the problems for which an API server would refuse the object.
func (it item) decodeTyped(gvk schema.GroupVersionKind) (o outcome, refused []string) {
	obj, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return outcome{}, []string{err.Error()}
	}
	if found := checkQuantities(reflect.TypeOf(obj), it.json); len(found) > 0 {
		return outcome{}, found
	}
	// The API server's JSON serializer calls the same function:
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
	strict, err := kjson.UnmarshalStrict(it.json, obj)
	if err != nil {
		return outcome{}, describeDecodeError(reflect.TypeOf(obj), it.json, err)
	}
	return it.create(obj.(cluster.Object), gvk.GroupVersion(), strict)
}

// decodeUnread is [item.decode] for an object whose header has not been read, so that its text is parsed only once. It works only if the
// object begins with apiVersion and kind, or the List around it names them, and if the kind takes part in scheduling. It reports whether it
// decoded the object.
func (it item) decodeUnread() (outcome, bool) {
	apiVersion, kind := leadingType(it.json)
	h := &it.header
	h.APIVersion, h.Kind = cmp.Or(apiVersion, h.APIVersion), cmp.Or(kind, h.Kind)
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if known := admission.KindNamed(h.Kind); err != nil || known == nil || !known.Serves(gv) || mayHaveHugeQuantity(it.json) || it.longSelector() != "" {
		return outcome{}, false
	}
	typed, err := legacyscheme.Scheme.New(gv.WithKind(h.Kind))
	if err != nil {
		return outcome{}, false
	}
	obj := typed.(cluster.Object)
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(h.Kind)) // in case the text does not have them
	strict, err := kjson.UnmarshalStrict(it.json, obj)
	if err != nil {
		return outcome{}, false
	}
	if v, k := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind(); v != h.APIVersion || k != h.Kind {
		return outcome{}, false // the text has another apiVersion or kind further on
	}
	h.Metadata.Name, h.Metadata.Namespace, h.Metadata.UID, h.Metadata.ResourceVersion = obj.GetName(), obj.GetNamespace(), string(obj.GetUID()), obj.GetResourceVersion()
	o, refused := it.create(obj, gv, strict)
	return o, len(refused) == 0
}

// create admits a decoded object as an API server does, and returns the problems for which the server would refuse it. The strict errors
// are those of the decoder.
func (it item) create(obj cluster.Object, gv schema.GroupVersion, strict []error) (o outcome, refused []string) {
	unknown := strictProblems(reflect.TypeOf(obj), strict)
	i := slices.IndexFunc(unknown, func(problem string) bool { return strings.HasPrefix(problem, `unknown field "sops"`) })
	encrypted := i >= 0
	if encrypted {
		unknown = slices.Delete(unknown, i, i+1)
	}
	if len(unknown) > 0 && !it.dumped() {
		return outcome{}, unknown
	}
	group := cluster.PodGroupOf(obj)
	created, problems := admission.Create(obj, gv, it.source.String())
	if len(problems) > 0 {
		return outcome{}, problems
	}
	if cluster.PodGroupOf(created) != "" {
		group = "" // the group was kept
	}
	o = outcome{Set: Set{Objects: []Object{{Object: created, Source: it.source, PodGroup: group}}}}
	for _, problem := range unknown {
		o.Flaws = append(o.Flaws, it.flaw(problem, false))
	}
	if encrypted {
		o.Flaws = append(o.Flaws, it.flaw("encrypted by SOPS, whose block sops is left out; its encrypted values are taken as they are", false))
	}
	return o, nil
}

// decodeKind returns the nodes of a kind cluster configuration.
func (it item) decodeKind() outcome {
	nodes, err := topology.FromKind(it.text)
	o := outcome{Set: Set{Kind: true}}
	var several utilerrors.Aggregate
	switch {
	case errors.As(err, &several):
		for _, err := range several.Errors() {
			o.errs = append(o.errs, it.source.errorf("%s", oneLine(err.Error())))
		}
	case err != nil:
		o.errs = append(o.errs, it.source.errorf("%s", oneLine(err.Error())))
	}
	for _, node := range nodes {
		created, problems := admission.Create(node, v1.SchemeGroupVersion, it.source.String())
		for _, problem := range problems {
			o.errs = append(o.errs, it.source.errorf("Node %s: %s", node.Name, oneLine(problem)))
		}
		if len(problems) == 0 {
			o.Objects = append(o.Objects, Object{Object: created, Source: it.source})
		}
	}
	return o
}

// strictProblems describes unknown and duplicate fields.
func strictProblems(t reflect.Type, errs []error) []string {
	problems := make([]string, 0, len(errs))
	for _, err := range errs {
		problem := err.Error()
		var field kjson.FieldError
		if errors.As(err, &field) && strings.HasPrefix(problem, "unknown field") {
			problem += suggestField(t, field.FieldPath())
		}
		problems = append(problems, problem)
	}
	return problems
}

// describeDecodeError describes each part of a value that does not fit the type. err is the error of the decoder, for values without such a part.
func describeDecodeError(t reflect.Type, value []byte, err error) []string {
	if found := findMisfits(t, value); len(found) > 0 {
		return found
	}
	return []string{err.Error()}
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// listKinds lists the kinds of an API version.
func listKinds(gv schema.GroupVersion) []string {
	var names []string
	for name := range legacyscheme.Scheme.KnownTypes(gv) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
