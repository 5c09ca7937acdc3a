package generic

import (
	_ "embed"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
)

// shippedFile contains the rules for resources that are common in clusters, and the sources of the rules.
//
//go:embed shipped.yaml
var shippedFile []byte

// templatesFile contains the rules for resources that hold pod templates, and the sources of the rules.
//
//go:embed templates.yaml
var templatesFile []byte

// BuiltIn returns the operators of the built-in rules, one per kind.
var BuiltIn = sync.OnceValue(func() []operator.Operator {
	type entry struct {
		APIVersion string  `json:"apiVersion"`
		Kind       string  `json:"kind"`
		Ended      []Case  `json:"ended"`
		Objects    []Shape `json:"objects"`
	}
	var file []entry
	for _, text := range [][]byte{shippedFile, templatesFile} {
		var entries []entry
		if err := yaml.UnmarshalStrict(text, &entries); err != nil {
			panic(err) // a test parses it
		}
		file = append(file, entries...)
	}
	var kinds []schema.GroupKind
	rules := map[schema.GroupKind][]Rule{}
	for _, r := range file {
		rule := Rule{Kind: schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), Ended: r.Ended, Objects: r.Objects}
		kind := rule.Kind.GroupKind()
		if rules[kind] == nil {
			kinds = append(kinds, kind)
		}
		rules[kind] = append(rules[kind], rule)
	}
	return list.Map(kinds, func(kind schema.GroupKind) operator.Operator { return New(rules[kind]...) })
})
