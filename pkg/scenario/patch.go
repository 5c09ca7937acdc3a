package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/words"
)

// Patch changes one object.
type Patch struct {
	Target `json:",inline"`
	// Type is how the patch is read: strategic, merge or json, as for kubectl patch --type. Default: strategic, and merge for a custom
	// resource.
	Type string `json:"type,omitempty" jsonschema:"enum=strategic,enum=merge,enum=json"`
	// Patch is the patch itself: a part of the object, or a list of operations if the type is json.
	Patch runtime.RawExtension `json:"patch" jsonschema:"oneof_type=object;array"`
}

func (p *Patch) validate(c *actionChecks) {
	ValidatePatch(c.Problems, c.path, p, func(target Target) bool {
		kind, _, karmada := ParseKarmada(target.Target)
		return c.resources(target) || c.federated && karmada && kind == federation.KindCluster
	}, !c.federated)
}

// Action describes the patch as a kubectl command.
func (p *Patch) Action() string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, p.Patch.Raw) // it has been decoded, so it is JSON
	return fmt.Sprintf("patch %s -p '%s'", p.Target.Argument(), compact.String())
}

// ValidatePatch reports problems of a patch that do not depend on the object that it changes. The function resources reports whether a
// target is a custom resource. Others means that the target may have a kind that is not Kubernetes' own.
func ValidatePatch(p *Problems, path *field.Path, patch *Patch, resources func(Target) bool, others bool) {
	if resources == nil || !resources(patch.Target) {
		validateTarget(p, path, patch.Target, others)
	} else if patch.Type == "strategic" {
		p.Add(path.Child("type"), "strategic is not for custom resources, which the API server patches by merge or json; give one of these")
	}
	if !slices.Contains([]string{"", "strategic", "merge", "json"}, patch.Type) {
		p.Add(path.Child("type"), "%q is not a patch type; use strategic, merge or json", patch.Type)
		return
	}
	if err := patch.CheckShape(); err != nil {
		p.Add(path.Child("patch"), "%s", err)
	}
}

// CheckShape returns an error if the patch is not a list although its type is json, or not an object although its type is another.
func (p *Patch) CheckShape() error {
	switch of := string(p.Patch.Raw); {
	case of == "":
		return errors.New("is missing; give the part of the object that changes")
	case p.Type == "json" && !strings.HasPrefix(of, "["):
		return errors.New("is not a list; a patch of type json is a list of operations such as {op: replace, path: /spec/replicas, value: 3}")
	case p.Type != "json" && !strings.HasPrefix(of, "{"):
		return errors.New("is not an object; give the part of the object that changes, or type: json for a list of operations")
	}
	return nil
}

// ErrTestFailed is wrapped by the error of a patch whose test operation does not find what it expects.
var ErrTestFailed = jsonpatch.ErrTestFailed

// As in the API server, a patch of type json may have a limited number of operations, and may copy a limited number of bytes:
//   - https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go
//   - https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/server/config.go
const (
	maxJSONPatchOperations = 10_000
	maxJSONPatchCopyBytes  = 3 << 20
)

func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// Apply returns the object after the patch, defaulted and validated. It does not change the given object.
func (p *Patch) Apply(obj cluster.Object) (cluster.Object, error) {
	if r, is := obj.(*cluster.CustomResource); is {
		return p.applyToCustom(r)
	}
	before, err := manifest.Encode(obj)
	if err != nil {
		return nil, err
	}
	after, err := p.applyToJSON(before, obj)
	if err != nil {
		return nil, &misfitError{cluster.RefTo(obj).Describe(), err}
	}
	patched, err := manifest.DecodeObject("patched", after)
	if err != nil {
		return nil, err
	}
	if cluster.RefTo(patched.Object).Describe() != cluster.RefTo(obj).Describe() {
		return nil, fmt.Errorf("the patch changes the kind, namespace or name of %s, which cannot change", cluster.RefTo(obj).Describe())
	}
	return patched.Object, nil
}

// applyToCustom returns the resource of a decider after the patch, without its defaults. The status stays as it is.
func (p *Patch) applyToCustom(r *cluster.CustomResource) (cluster.Object, error) {
	if p.Type == "strategic" {
		return nil, errors.New("type: strategic is not for custom resources, which the API server patches by merge or json; give one of these")
	}
	before, err := r.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := p.applyToJSON(before, nil)
	patched := &cluster.CustomResource{}
	if err == nil {
		err = patched.UnmarshalJSON(after)
	}
	if err != nil {
		return nil, &misfitError{cluster.RefTo(r).Describe(), err}
	}
	if cluster.RefTo(patched) != cluster.RefTo(r) || patched.GetAPIVersion() != r.GetAPIVersion() {
		return nil, fmt.Errorf("the patch changes the kind, namespace or name of %s, which cannot change", cluster.RefTo(r).Describe())
	}
	decider.SetStatusOf(patched, r)
	return patched, nil
}

// misfitError is the error of a patch that does not fit an object.
type misfitError struct {
	object string
	err    error
}

func (m *misfitError) Unwrap() error { return m.err }

// Error has one line for each problem.
func (m *misfitError) Error() string {
	var lines []string
	for line := range strings.Lines(m.err.Error()) {
		lines = append(lines, fmt.Sprintf("the patch does not fit %s: %s", m.object, strings.TrimSpace(line)))
	}
	return strings.Join(lines, "\n")
}

// goValues matches the parts of upstream's errors that are Go values, with the words before them.
var goValues = regexp.MustCompile(` in map: map\[.*|map: map\[.*\] (does not)|: \[.*`)

// plainPatchError is upstream's error about a patch, without Go's types and values in its text.
type plainPatchError struct{ error }

func (e plainPatchError) Unwrap() error { return e.error }

func (e plainPatchError) Error() string {
	return goValues.ReplaceAllStringFunc(e.error.Error(), func(match string) string {
		if strings.HasPrefix(match, "map:") {
			return "an element of a list does not"
		}
		return ""
	})
}

// patchOperations are the operations of a patch of type json.
var patchOperations = []string{"add", "remove", "replace", "move", "copy", "test"}

// applyToJSON returns the object after the patch, both as JSON. A strategic patch reads the schema from obj's Go type.
func (p *Patch) applyToJSON(before []byte, obj cluster.Object) ([]byte, error) {
	if err := p.CheckShape(); err != nil {
		return nil, err
	}
	if p.Type == "json" {
		operations, err := jsonpatch.DecodePatch(p.Patch.Raw)
		if err != nil {
			return nil, errors.New("it is not a list of operations; give a list such as [{op: replace, path: /spec/replicas, value: 3}]")
		}
		if len(operations) > maxJSONPatchOperations {
			return nil, fmt.Errorf("it has %d operations; give at most %d", len(operations), maxJSONPatchOperations)
		}
		var problems []error
		for i, operation := range operations {
			if !slices.Contains(patchOperations, operation.Kind()) {
				problems = append(problems, fmt.Errorf("[%d].op: is none of %s", i, words.And(patchOperations)))
			}
			if _, err := operation.Path(); err != nil {
				problems = append(problems, fmt.Errorf("[%d].path: is missing; give one such as /spec/replicas", i))
			}
		}
		if len(problems) > 0 {
			return nil, errors.Join(problems...)
		}
		after, err := operations.Apply(before)
		if err != nil {
			return nil, plainPatchError{err}
		}
		return after, nil
	}
	// The patch must have the shape of the object; the error says where it does not.
	if obj != nil {
		if err := manifest.CheckPatchTypes(p.Patch.Raw, obj); err != nil {
			return nil, err
		}
	}
	var after []byte
	var err error
	if p.Type == "merge" || obj == nil {
		after, err = jsonpatch.MergePatch(before, p.Patch.Raw)
	} else {
		after, err = strategicpatch.StrategicMergePatch(before, p.Patch.Raw, obj)
	}
	if err != nil {
		return nil, plainPatchError{err}
	}
	return after, nil
}

// ApplyToResource returns the custom resource after the patch.
func (p *Patch) ApplyToResource(resource manifest.Ignored) (manifest.Ignored, error) {
	after, err := p.applyToJSON(resource.JSON, nil)
	if err != nil {
		return resource, &misfitError{operator.ResourceKey(resource), err}
	}
	patched := resource
	patched.JSON = after
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(after, &head); err != nil || head.Kind != resource.Kind || head.Metadata.Name != resource.Name || head.Metadata.Namespace != resource.Namespace {
		return resource, fmt.Errorf("the patch changes the kind, namespace or name of %s, which cannot change", operator.ResourceKey(resource))
	}
	return patched, nil
}

// ApplyToCluster returns the member cluster of a federation after the patch.
func (p *Patch) ApplyToCluster(c *federation.Cluster) (*federation.Cluster, error) {
	before, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	after, err := p.applyToJSON(before, nil)
	if err != nil {
		return nil, &misfitError{"cluster " + c.Name, err}
	}
	patched := &federation.Cluster{}
	unknown, err := manifest.DecodeResource(after, patched)
	if err != nil {
		return nil, err
	}
	if patched.Kind != c.Kind || patched.Name != c.Name || patched.Namespace != "" {
		return nil, fmt.Errorf("the patch changes the kind, namespace or name of cluster %s, which cannot change", c.Name)
	}
	var problems []error
	for _, warning := range unknown {
		problems = append(problems, errors.New(strings.TrimSuffix(warning, "; the API server would leave it out")))
	}
	for _, err := range validateLabelsAndTaints(patched.Labels, field.NewPath("metadata", "labels"), patched.Spec.Taints, field.NewPath("spec", "taints")) {
		problems = append(problems, err)
	}
	return patched, errors.Join(problems...)
}
