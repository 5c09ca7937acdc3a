package scenario

import (
	"strings"

	"github.com/faultline/faultline/pkg/federation"
)

// karmadaKinds are the kinds of Karmada that a target can name, by every name that kubectl knows them by.
var karmadaKinds = map[string]string{
	"cluster": federation.KindCluster, "clusters": federation.KindCluster,
	"propagationpolicy": federation.KindPropagationPolicy, "propagationpolicies": federation.KindPropagationPolicy, "pp": federation.KindPropagationPolicy,
	"clusterpropagationpolicy": federation.KindClusterPolicy, "clusterpropagationpolicies": federation.KindClusterPolicy, "cpp": federation.KindClusterPolicy,
	"overridepolicy": federation.KindOverridePolicy, "overridepolicies": federation.KindOverridePolicy, "op": federation.KindOverridePolicy,
	"clusteroverridepolicy": federation.KindClusterOverridePolicy, "clusteroverridepolicies": federation.KindClusterOverridePolicy, "cop": federation.KindClusterOverridePolicy,
}

// ParseKarmada splits a target such as propagationpolicy/web or cluster/m1 into kind and name. It reports false if the kind is not one of
// Karmada's.
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
