package kafscale

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/input/operator"
)

// chart is a release of KafScale's Helm chart.
type chart struct {
	release, namespace string
	revision           Revision
	values             *values
}

// installChart returns the workloads of the enabled templates in deploy/helm/kafscale.
func installChart(opts *Options, v *values, warnings []string) *operator.Expansion {
	c := &chart{release: opts.Release, namespace: opts.Namespace, revision: opts.Revision, values: v}
	if c.release == "" {
		c.release = chartName
	}
	if c.namespace == "" {
		c.namespace = v1.NamespaceDefault
	}
	e := &operator.Expansion{Warnings: warnings}
	e.Objects = append(e.Objects, c.deployment("operator", &v.Operator.component, nil))
	if v.Console.Enabled {
		e.Objects = append(e.Objects, c.deployment("console", &v.Console, nil))
	}
	if v.Proxy.Enabled {
		made := c.deployment("proxy", &v.Proxy, c.proxyAffinity())
		e.Objects = append(e.Objects, made)
		e.Warnings = append(e.Warnings, warnInertAntiAffinity(made.Object.(*appsv1.Deployment))...)
	}
	if v.MCP.Enabled {
		made := c.deployment("mcp", &v.MCP.component, nil)
		made.SetNamespace(v.MCP.Namespace.Name)
		e.Objects = append(e.Objects, made)
	}
	return e
}

// truncate cuts a name to 63 characters, as the chart's helpers do.
func truncate(name string) string {
	return strings.TrimSuffix(name[:min(len(name), 63)], "-")
}

func (c *chart) name() string {
	if c.values.NameOverride != "" {
		return truncate(c.values.NameOverride)
	}
	return chartName
}

func (c *chart) fullname() string {
	switch {
	case c.values.FullnameOverride != "":
		return truncate(c.values.FullnameOverride)
	case c.release == c.name():
		return truncate(c.release)
	}
	return truncate(c.release + "-" + c.name())
}

const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	componentLabel = "app.kubernetes.io/component"
)

// selectorLabels returns the labels of a component's pods, by which its Deployment selects them.
func (c *chart) selectorLabels(component string) map[string]string {
	return map[string]string{nameLabel: truncate(c.name() + "-" + component), instanceLabel: c.release, componentLabel: component}
}

// objectLabels returns the labels of a component's Deployment itself. Its label app.kubernetes.io/name differs from that of its pods.
func (c *chart) objectLabels(component string) map[string]string {
	return map[string]string{
		nameLabel: c.name(), instanceLabel: c.release, componentLabel: component, "app.kubernetes.io/part-of": "kafscale",
	}
}

// deployment returns a component's Deployment. An affinity in the values replaces the default rule.
func (c *chart) deployment(name string, component *component, rule *v1.Affinity) operator.WrittenObject {
	container := v1.Container{Name: name, Image: component.Image.String(), Resources: component.Resources}
	spec := v1.PodSpec{NodeSelector: component.NodeSelector, Tolerations: component.Tolerations, Affinity: rule}
	if name == "proxy" {
		spec.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		container.VolumeMounts = []v1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	}
	spec.Containers = []v1.Container{container}
	level := "chart default"
	if component.Affinity != nil && *component.Affinity != (v1.Affinity{}) {
		level = "chart values"
		if name == "proxy" && c.revision == Drifted {
			spec.Affinity = mergeAffinity(rule, component.Affinity)
		} else {
			spec.Affinity = component.Affinity
		}
	}
	made := operator.WrittenObject{Object: &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: truncate(c.fullname() + "-" + name), Namespace: c.namespace, Labels: c.objectLabels(name)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &component.ReplicaCount,
			Selector: &metav1.LabelSelector{MatchLabels: c.selectorLabels(name)},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: c.selectorLabels(name)}, Spec: spec},
		},
	}}
	from := func(field string, set bool, level string) {
		if set {
			made.Origins = append(made.Origins, operator.Origin{Field: field, Level: level})
		}
	}
	if affinity := spec.Affinity; affinity != nil {
		from("affinity.nodeAffinity", affinity.NodeAffinity != nil, level)
		from("affinity.podAffinity", affinity.PodAffinity != nil, level)
		from("affinity.podAntiAffinity", affinity.PodAntiAffinity != nil, level)
		from("affinity.podAntiAffinity", affinity.PodAntiAffinity == nil && rule != nil, operator.DroppedPrefix+level)
	}
	from("nodeSelector", len(spec.NodeSelector) > 0, "chart values")
	from("tolerations", len(spec.Tolerations) > 0, "chart values")
	return made
}

// proxyAffinity returns the chart's default rule for the proxy, or nil.
func (c *chart) proxyAffinity() *v1.Affinity {
	switch c.revision {
	case Before:
		return nil
	case Drifted:
		return softAntiAffinity(map[string]string{nameLabel: "kafscale-proxy", componentLabel: "proxy"})
	}
	return softAntiAffinity(c.selectorLabels("proxy"))
}

// mergeAffinity merges the given affinity over the proxy's default rule in the drifted revision, as Helm merges maps: the rule stays if the given
// affinity has no podAntiAffinity, or one without preferred terms.
func mergeAffinity(rule, given *v1.Affinity) *v1.Affinity {
	merged := given.DeepCopy()
	if merged.PodAntiAffinity == nil {
		merged.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	if merged.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		merged.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = rule.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	return merged
}

// softAntiAffinity returns KafScale's only rule: a preferred anti-affinity over hosts. The operator's softPodAntiAffinity
// (pkg/operator/cluster_controller.go) and the chart's proxy share it.
func softAntiAffinity(matchLabels map[string]string) *v1.Affinity {
	return &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{operator.HostAffinityTerm(100, matchLabels)},
	}}
}

// warnInertAntiAffinity returns a warning for each anti-affinity term of the Deployment that does not match the Deployment's own pods.
func warnInertAntiAffinity(d *appsv1.Deployment) []string {
	if d.Spec.Template.Spec.Affinity == nil || d.Spec.Template.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	anti := d.Spec.Template.Spec.Affinity.PodAntiAffinity
	terms := append([]v1.PodAffinityTerm(nil), anti.RequiredDuringSchedulingIgnoredDuringExecution...)
	for _, weighted := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, weighted.PodAffinityTerm)
	}
	var warnings []string
	for _, term := range terms {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil || selector.Matches(labels.Set(d.Spec.Template.Labels)) { // the API server rejects invalid selectors
			continue
		}
		warnings = append(warnings, fmt.Sprintf("the anti-affinity of Deployment %s is about pods with %s, and its own have %s: it keeps none of them apart",
			d.Name, selector, labels.Set(d.Spec.Template.Labels)))
	}
	return warnings
}
