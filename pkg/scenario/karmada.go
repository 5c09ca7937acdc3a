package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// karmadaKinds are the kinds of Karmada that a target can name, by every name that kubectl knows them by.
var karmadaKinds = map[string]string{
	"cluster": federation.KindCluster, "clusters": federation.KindCluster,
	"propagationpolicy": federation.KindPropagationPolicy, "propagationpolicies": federation.KindPropagationPolicy, "pp": federation.KindPropagationPolicy,
	"clusterpropagationpolicy": federation.KindClusterPolicy, "clusterpropagationpolicies": federation.KindClusterPolicy, "cpp": federation.KindClusterPolicy,
	"overridepolicy": federation.KindOverridePolicy, "overridepolicies": federation.KindOverridePolicy, "op": federation.KindOverridePolicy,
	"clusteroverridepolicy": federation.KindClusterOverridePolicy, "clusteroverridepolicies": federation.KindClusterOverridePolicy, "cop": federation.KindClusterOverridePolicy,
}

// ParseKarmada splits a target such as propagationpolicy/web or cluster/m1 into kind and name, if its kind is one of Karmada's.
func ParseKarmada(target string) (kind, name string, is bool) {
	word, name, found := strings.Cut(target, "/")
	word, group, _ := strings.Cut(strings.ToLower(word), ".")
	kind = karmadaKinds[word]
	ofKind := federation.PolicyGroup
	if kind == federation.KindCluster {
		ofKind, _, _ = strings.Cut(federation.ClusterAPIVersion, "/")
	}
	return kind, name, found && kind != "" && name != "" && !strings.Contains(name, "/") && (group == "" || group == ofKind)
}

// PatchCluster returns the cluster as it is after the patch.
func PatchCluster(c *federation.Cluster, p *Patch) (*federation.Cluster, error) {
	before, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	after, err := p.bytes(before)
	if err != nil {
		return nil, fmt.Errorf("the patch does not fit cluster %s: %w", c.Name, err)
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
	for _, err := range invalidCluster(patched.Labels, field.NewPath("metadata", "labels"), patched.Spec.Taints, field.NewPath("spec", "taints")) {
		problems = append(problems, err)
	}
	return patched, errors.Join(problems...)
}
