package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// item is an object that is not decoded yet.
type item struct {
	header header
	text   []byte // the document as written, or the same as json for a part of a document
	json   []byte
	source Source
	// errs are the reasons why the item is no object. If there are any, the header may be incomplete.
	errs []error
	// noObject means that the item is a value of another type, such as a number.
	noObject bool
	// page is set if the item stands for a List itself, which is a page of a longer one or the last page of one.
	page *page
}

// header has the fields that every object has.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string `json:"name"`
		GenerateName    string `json:"generateName"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"` // of a List
	} `json:"metadata"`
}

// maxLists is how deep Lists may be nested.
const maxLists = 10

// ref returns the object's kind, namespace and name.
func (h header) ref() cluster.Ref {
	return cluster.Ref{Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
}

// describe returns the object's name as in errors, with its namespace or the default one.
func (h header) describe() string {
	ref := h.ref()
	switch {
	case ref.Name == "":
		return ref.Kind + " without a name"
	case cluster.Namespaced(ref.Kind):
		ref.Namespace = cmp.Or(ref.Namespace, metav1.NamespaceDefault)
	default:
		ref.Namespace = ""
	}
	return ref.Describe()
}

// expandDocument returns the objects of a document: the document itself, or the items if it is a List, a list or a snapshot.
func expandDocument(d document) []item {
	it := item{text: d.text, json: d.json, source: d.source}
	if _, is := splitArray(d.json); is {
		return it.expandTree(1)
	}
	if it.readHeader() && it.header.APIVersion == "" && it.header.Kind == "" {
		if items, ok := expandSnapshot(it); ok && (len(items) == 0 || len(items[0].errs) == 0 || !isTree(d.json, 0)) {
			return items
		}
		if items := it.kindlessItems(); items != nil {
			return items
		}
		if isTree(d.json, 0) {
			return it.expandTree(1)
		}
	}
	return it.expandList(0)
}

// isTree reports whether the value is an object whose values are all objects of Kubernetes, or lists and objects of them, as Jsonnet and
// Tanka write. Such an object has no apiVersion and no kind itself. Where all objects are those of a dump, as a script writes that collects
// them, there may also be values without objects: {"collected": "2025-01-01", "nodes": [...], "jobs": []}.
func isTree(value []byte, depth int) bool {
	parts := treeParts(value, depth)
	return hasOnlyTrees(parts, depth+1, false) || depth == 0 && hasOnlyTrees(list.Without(parts, isEmptyValue), 1, true)
}

// hasOnlyTrees reports whether there is a value, and each holds objects.
func hasOnlyTrees(parts []json.RawMessage, depth int, dumped bool) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part json.RawMessage) bool { return !isTreePart(part, depth, dumped) })
}

// treeParts returns the values of an object that has no apiVersion and no kind.
func treeParts(value []byte, depth int) []json.RawMessage {
	var parts map[string]json.RawMessage
	if value[0] != '{' || depth == maxLists || json.Unmarshal(value, &parts) != nil || parts["apiVersion"] != nil || parts["kind"] != nil {
		return nil
	}
	return slices.Collect(maps.Values(parts))
}

// isTreePart reports whether the value is an object of Kubernetes, a list of them, or a tree; dumped asks for objects of a dump.
func isTreePart(part []byte, depth int, dumped bool) bool {
	if values, is := splitArray(part); is {
		return hasOnlyTrees(values, depth+1, dumped)
	}
	var head header
	if part[0] == '{' && json.Unmarshal(part, &head) == nil && head.APIVersion != "" && head.Kind != "" {
		return !dumped || item{header: head}.dumped() || strings.HasSuffix(head.Kind, "List")
	}
	return !dumped && isTree(part, depth)
}

// isEmptyValue reports whether the value has no object in it: it is null, a text, a number or a boolean, or an empty list or object.
func isEmptyValue(value json.RawMessage) bool {
	return value[0] != '{' && value[0] != '[' || len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

// expandTree returns the objects of a list or an object that holds objects, lists of them, or objects of them. The fields of an object are
// sorted by name.
func (it item) expandTree(depth int) (items []item) {
	if values, is := splitArray(it.json); is {
		for i, value := range values {
			items = append(items, item{text: value, json: value, source: it.source.childSource("", i)}.expandPart(depth)...)
		}
		return items
	}
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(it.json, &parts) // isTree has parsed it
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if isEmptyValue(parts[name]) {
			continue
		}
		part := item{text: parts[name], json: parts[name], source: it.source}
		part.source.Path = strings.TrimPrefix(part.source.Path+"."+name, ".")
		items = append(items, part.expandPart(depth)...)
	}
	return items
}

// expandPart returns the objects of a value in a tree.
func (it item) expandPart(depth int) []item {
	if _, is := splitArray(it.json); depth < maxLists && (is || isTree(it.json, depth)) {
		return it.expandTree(depth + 1)
	}
	return it.expandMember(depth)
}

// readHeader reports whether the item is an object with a header.
func (it *item) readHeader() bool {
	if it.json[0] != '{' {
		it.addError("%s where an object with apiVersion and kind is wanted", jsonType(it.json))
		it.noObject = true
		return false
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(it.json, &it.header); err != nil {
		for _, problem := range describeDecodeError(reflect.TypeFor[header](), it.json, err) {
			it.addError("%s", problem)
		}
	}
	return len(it.errs) == 0
}

// leadingType returns the apiVersion and the kind if the text of the object begins with them, as API servers and kubectl write it. It
// returns "" for one that comes later or is missing.
func leadingType(object []byte) (apiVersion, kind string) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if begin, err := decoder.ReadToken(); err != nil || begin.Kind() != jsontext.KindBeginObject {
		return "", ""
	}
	for {
		name, err := decoder.ReadToken()
		if err != nil || name.Kind() != jsontext.KindString {
			return apiVersion, kind
		}
		var field *string
		switch name.String() {
		case "apiVersion":
			field = &apiVersion
		case "kind":
			field = &kind
		default:
			return apiVersion, kind
		}
		value, err := decoder.ReadToken()
		if err != nil || value.Kind() != jsontext.KindString {
			return "", ""
		}
		*field = value.String()
	}
}

func (it *item) addError(format string, args ...any) {
	it.errs = append(it.errs, it.source.errorf(format, args...))
}

// expandList returns the items of a List of any kind, or the item itself if it is not a List.
func (it item) expandList(depth int) []item {
	if len(it.errs) > 0 {
		return []item{it}
	}
	if !strings.HasSuffix(it.header.Kind, "List") {
		it.checkSize()
		return []item{it}
	}
	var list struct {
		Items json.RawMessage `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(it.json, &list); err != nil {
		it.addError("cannot be read: %v", err)
		return []item{it}
	}
	var values []json.RawMessage
	switch {
	case list.Items == nil && it.header.Kind != "List":
		return []item{it} // a kind that is not a list, although its name ends in List
	case list.Items == nil:
		it.addError("List: no items; a List has its objects under items")
	case depth == maxLists:
		it.addError("more than %d Lists inside each other", maxLists)
	case json.Unmarshal(list.Items, &values) != nil:
		it.addError("items: %s where a list is wanted", jsonType(list.Items))
	}
	if len(it.errs) > 0 {
		return []item{it}
	}
	items := make([]item, 0, 1+len(values))
	items = append(items, it.asPage())
	for i, value := range values {
		items = append(items, it.memberAt(i, value).expandMember(depth+1)...)
	}
	return items
}

// memberAt returns item i of the List.
func (it item) memberAt(i int, value []byte) item {
	m := item{text: value, json: value, source: it.source.childSource("items", i)}
	// The items of an API server's PodList and similar lists have no apiVersion and kind.
	if kind := strings.TrimSuffix(it.header.Kind, "List"); kind != "" {
		m.header = header{APIVersion: it.header.APIVersion, Kind: kind}
	}
	return m
}

// expandMember returns the objects of an item of a List.
func (it item) expandMember(depth int) []item {
	if it.checkSize() {
		it.readHeader()
	}
	return it.expandList(depth)
}

// checkSize reports whether the item is not too large.
func (it *item) checkSize() bool {
	if len(it.json) > maxObject {
		it.addError("%v", errObjectTooLarge)
	}
	return len(it.errs) == 0
}

// splitArray returns the elements of a list.
func splitArray(value []byte) (values []json.RawMessage, is bool) {
	if value[0] != '[' {
		return nil, false
	}
	return values, json.Unmarshal(value, &values) == nil
}

func (s Source) childSource(list string, i int) Source {
	path := fmt.Sprintf("%s[%d]", list, i)
	if s.Path != "" && list == "" {
		path = s.Path + path
	} else if s.Path != "" {
		path = s.Path + "." + path
	}
	s.Path = path
	return s
}

// jsonType returns the name of the type of a JSON value.
func jsonType(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// snapshotKinds lists the fields of a kube-scheduler-simulator snapshot that hold objects, in the order in which the simulator imports
// them; see https://github.com/kubernetes-sigs/kube-scheduler-simulator/blob/master/simulator/snapshot/snapshot.go.
var snapshotKinds = []struct{ key, apiVersion, kind string }{
	{"namespaces", "v1", "Namespace"},
	{"priorityClasses", "scheduling.k8s.io/v1", "PriorityClass"},
	{"storageClasses", "storage.k8s.io/v1", "StorageClass"},
	{"pvcs", "v1", "PersistentVolumeClaim"},
	{"nodes", "v1", "Node"},
	{"pods", "v1", "Pod"},
	{"pvs", "v1", "PersistentVolume"},
}

// expandSnapshot returns the objects and the scheduler configuration of a snapshot of kube-scheduler-simulator. It recognises a snapshot by
// its keys.
func expandSnapshot(it item) (items []item, ok bool) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(it.json, &parts); err != nil {
		return nil, false
	}
	keys := []string{"schedulerConfig"}
	for _, s := range snapshotKinds {
		keys = append(keys, s.key)
	}
	if !slices.ContainsFunc(keys, func(key string) bool { return parts[key] != nil }) {
		return nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains(keys, key) {
			it.addError("snapshot: unknown field %q%s", key, DidYouMean(key, keys))
		}
	}
	if len(it.errs) > 0 && !hasObjects(parts) {
		return nil, false // such as the statistics of a kubelet, with a list of pods that has no Pod
	}
	for _, s := range snapshotKinds {
		var values []json.RawMessage
		if part := parts[s.key]; part != nil && json.Unmarshal(part, &values) != nil {
			it.addError("snapshot: %s: %s where a list is wanted", s.key, jsonType(part))
		}
		for i, value := range values {
			element := item{header: header{APIVersion: s.apiVersion, Kind: s.kind}, text: value, json: value, source: it.source.childSource(s.key, i)}
			if element.checkSize() {
				element.readHeader()
			}
			items = append(items, element)
		}
	}
	if config := parts["schedulerConfig"]; config != nil && string(config) != "null" {
		config = addType(config, "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration")
		element := item{text: config, json: config, source: it.source}
		element.source.Path = "schedulerConfig"
		element.readHeader()
		items = append(items, element)
	}
	if len(it.errs) > 0 {
		items = append([]item{it}, items...)
	}
	return items, true
}

// hasObjects reports whether a list among the parts has an object with metadata.
func hasObjects(parts map[string]json.RawMessage) bool {
	for _, part := range parts {
		values, _ := splitArray(part)
		if slices.ContainsFunc(values, func(value json.RawMessage) bool {
			var fields map[string]json.RawMessage
			return json.Unmarshal(value, &fields) == nil && len(fields["metadata"]) > 0 && fields["metadata"][0] == '{'
		}) {
			return true
		}
	}
	return false
}

// addType adds the apiVersion and kind that an object lacks.
func addType(value json.RawMessage, apiVersion, kind string) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil || fields["kind"] != nil {
		return value
	}
	fields["apiVersion"], fields["kind"] = json.RawMessage(strconv.Quote(apiVersion)), json.RawMessage(strconv.Quote(kind))
	typed, err := json.Marshal(fields)
	if err != nil {
		return value
	}
	return typed
}
