package topology

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	cliflag "k8s.io/component-base/cli/flag"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// registration is the data with which kubeadm and the kubelet register a node when it joins its cluster.
type registration struct {
	name          string            // overrides the container's name if not empty
	labels        map[string]string // the kubelet's --node-labels
	taints        []v1.Taint        // kubeadm's; nil means its default, empty none
	kubeletTaints []v1.Taint        // the kubelet's --register-with-taints
}

// registerNode returns the registration of the nth node of its role. It applies the node's labels, then the cluster's patches, then the node's
// patches, as kind does in https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/cluster/internal/create/actions/config/config.go. kind
// passes labels in --node-labels, so a patch that sets this flag replaces them.
func registerNode(cluster *v1alpha4.Cluster, node *v1alpha4.Node, nth int, path *field.Path) (registration, field.ErrorList) {
	kind := "JoinConfiguration"
	if node.Role == v1alpha4.ControlPlaneRole && nth == 1 {
		kind = "InitConfiguration"
	}
	r := registration{labels: node.Labels}
	errs := validateNodeLabels(node.Labels, path.Child("labels"))
	for _, from := range []struct {
		path     *field.Path
		merge    []string
		json6902 []v1alpha4.PatchJSON6902
	}{
		{nil, cluster.KubeadmConfigPatches, cluster.KubeadmConfigPatchesJSON6902},
		{path, node.KubeadmConfigPatches, node.KubeadmConfigPatchesJSON6902},
	} {
		for i, text := range from.merge {
			errs = append(errs, r.applyPatch(kind, text, from.path.Child("kubeadmConfigPatches").Index(i))...)
		}
		for i, p := range from.json6902 {
			// The operations address a form of the configuration that differs between versions of kubeadm.
			if p.Kind == kind && strings.Contains(p.Patch, "nodeRegistration") {
				errs = append(errs, field.Forbidden(from.path.Child("kubeadmConfigPatchesJSON6902").Index(i),
					"JSON patches of nodeRegistration are not supported; write a merge patch in kubeadmConfigPatches"))
			}
		}
	}
	return r, errs
}

// applyPatch applies the documents of a merge patch for this kind of kubeadm configuration. The apiVersion that kind generates depends on its
// release and the node image, so patches for every version of kubeadm are applied; kubelet flags merge by name in all of them, as in
// https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/internal/patch/kubeadm_merge.go.
func (r *registration) applyPatch(kind, text string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	fail := func(err error) { errs = append(errs, field.Invalid(path, field.OmitValueType{}, oneLine(err).Error())) }
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return errs
		}
		if err != nil {
			fail(err)
			return errs
		}
		var meta struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &meta); err != nil {
			fail(err)
			continue
		}
		if meta.Kind != kind || meta.APIVersion != "" && !strings.HasPrefix(meta.APIVersion, "kubeadm.k8s.io/") {
			continue
		}
		var patch struct {
			NodeRegistration struct {
				Name             *string         `json:"name"`
				KubeletExtraArgs kubeletArgs     `json:"kubeletExtraArgs"`
				Taints           json.RawMessage `json:"taints"` // absent keeps the taints, null resets them
			} `json:"nodeRegistration"`
		}
		if err := yaml.Unmarshal(document, &patch); err != nil {
			fail(err)
			continue
		}
		path := path.Child("nodeRegistration")
		if name := patch.NodeRegistration.Name; name != nil {
			r.name = *name
		}
		if raw := patch.NodeRegistration.Taints; len(raw) > 0 {
			r.taints = nil
			if err := json.Unmarshal(raw, &r.taints); err != nil {
				fail(err)
			}
			errs = append(errs, validateTaints(r.taints, path.Child("taints"))...)
		}
		errs = append(errs, r.applyFlags(patch.NodeRegistration.KubeletExtraArgs, path.Child("kubeletExtraArgs"))...)
	}
}

// applyFlags applies the kubelet flags that describe the node; a flag without a value is removed.
func (r *registration) applyFlags(args kubeletArgs, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if value, given := args["node-labels"]; given {
		labels := cliflag.ConfigurationMap{}
		if value != nil {
			_ = labels.Set(*value) // never fails
		}
		r.labels = labels
		errs = append(errs, validateNodeLabels(labels, path.Key("node-labels"))...)
	}
	if value, given := args["register-with-taints"]; given {
		r.kubeletTaints = nil
		if value != nil {
			r.kubeletTaints = []v1.Taint{} // set, but to nothing
		}
		if value != nil && *value != "" {
			for _, text := range strings.Split(*value, ",") {
				r.kubeletTaints = append(r.kubeletTaints, parseTaint(text))
			}
		}
		errs = append(errs, validateTaints(r.kubeletTaints, path.Key("register-with-taints"))...)
	}
	return errs
}

// parseTaint parses key=value:effect or key:effect. It does not reject other texts, since validateTaints does; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/util/taints/taints.go.
func parseTaint(text string) v1.Taint {
	rest, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	return v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)}
}

// kubeletArgs are kubelet flags by name; nil removes a flag.
type kubeletArgs map[string]*string

// UnmarshalJSON accepts the list of v1beta4 and the map of earlier versions.
func (a *kubeletArgs) UnmarshalJSON(data []byte) error {
	var list []struct {
		Name  string  `json:"name"`
		Value *string `json:"value"`
	}
	if data[0] != '[' {
		return json.Unmarshal(data, (*map[string]*string)(a))
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*a = kubeletArgs{}
	for _, arg := range list {
		(*a)[arg.Name] = arg.Value
	}
	return nil
}

// validateNodeLabels reports labels that the kubelet rejects in --node-labels, since the node would never join its cluster; see
// ValidateKubeletFlags in https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kubelet/app/options/options.go.
func validateNodeLabels(labels map[string]string, path *field.Path) field.ErrorList {
	errs := validateLabels(labels, path)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		domain, _, found := strings.Cut(key, "/")
		if found && isKubernetesDomain(domain) && !kubeletapis.IsKubeletLabel(key) {
			errs = append(errs, field.Forbidden(path.Key(key), fmt.Sprintf("the kubelet does not start with labels of %s except %s and those under %s",
				domain, strings.Join(kubeletapis.KubeletLabels(), ", "), strings.Join(kubeletapis.KubeletLabelNamespaces(), ", "))))
		}
	}
	return errs
}

func isKubernetesDomain(domain string) bool {
	return domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") ||
		domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
}
