package stackable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// customResource has the fields of every resource. Its spec has a field for each role.
type customResource struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Metadata   json.RawMessage            `json:"metadata"`
	Spec       map[string]json.RawMessage `json:"spec"`
	Status     json.RawMessage            `json:"status"`
}

type image struct {
	Custom           string          `json:"custom"`
	ProductVersion   string          `json:"productVersion"`
	StackableVersion string          `json:"stackableVersion"`
	Repo             string          `json:"repo"`
	PullPolicy       json.RawMessage `json:"pullPolicy"`
	PullSecrets      json.RawMessage `json:"pullSecrets"`
}

type clusterOperation struct {
	Stopped              bool `json:"stopped"`
	ReconciliationPaused bool `json:"reconciliationPaused"`
}

type roleSpec struct {
	Level
	RoleConfig roleConfig            `json:"roleConfig"`
	RoleGroups map[string]*roleGroup `json:"roleGroups"`
}

type roleGroup struct {
	Level
	Replicas *int32 `json:"replicas"`
}

// flatRole is a role without role groups.
type flatRole struct {
	roleGroup
	RoleConfig json.RawMessage `json:"roleConfig"`
}

type roleConfig struct {
	PodDisruptionBudget   budget          `json:"podDisruptionBudget"`
	ListenerClass         json.RawMessage `json:"listenerClass"`
	DiscoveryServiceClass json.RawMessage `json:"discoveryServiceListenerClass"`
}

type budget struct {
	Enabled        *bool  `json:"enabled"`
	MaxUnavailable *int32 `json:"maxUnavailable"`
}

// Level contains the settings of a role or a role group. Settings that do not affect where pods go are raw JSON.
type Level struct {
	Config               config            `json:"config"`
	PodOverrides         json.RawMessage   `json:"podOverrides"`
	NodeSelector         map[string]string `json:"nodeSelector"` // a field of ADR026; current resources have none
	ConfigOverrides      json.RawMessage   `json:"configOverrides"`
	EnvOverrides         json.RawMessage   `json:"envOverrides"`
	CLIOverrides         json.RawMessage   `json:"cliOverrides"`
	JVMArgumentOverrides json.RawMessage   `json:"jvmArgumentOverrides"`
}

// config has the fields of all products' role configurations.
type config struct {
	Affinity  affinity          `json:"affinity"`
	Resources resources         `json:"resources"`
	Logging   logging           `json:"logging"`
	Selector  map[string]string `json:"nodeSelector"` // a field of ADR026; current resources have none

	GracefulShutdownTimeout json.RawMessage `json:"gracefulShutdownTimeout"`
	RequestedSecretLifetime json.RawMessage `json:"requestedSecretLifetime"`
	ListenerClass           json.RawMessage `json:"listenerClass"`
	BrokerListenerClass     json.RawMessage `json:"brokerListenerClass"`
	BootstrapListenerClass  json.RawMessage `json:"bootstrapListenerClass"`
	InitLimit               json.RawMessage `json:"initLimit"`
	SyncLimit               json.RawMessage `json:"syncLimit"`
	TickTime                json.RawMessage `json:"tickTime"`
	MyidOffset              json.RawMessage `json:"myidOffset"`
	HbaseRootdir            json.RawMessage `json:"hbaseRootdir"`
	RegionMover             json.RawMessage `json:"regionMover"`
	QueryMaxMemory          json.RawMessage `json:"queryMaxMemory"`
	QueryMaxMemoryPerNode   json.RawMessage `json:"queryMaxMemoryPerNode"`
	RowLimit                json.RawMessage `json:"rowLimit"`
	WebserverTimeout        json.RawMessage `json:"webserverTimeout"`
	WarehouseDir            json.RawMessage `json:"warehouseDir"`
	Cleaner                 json.RawMessage `json:"cleaner"`
	VolumeMounts            json.RawMessage `json:"volumeMounts"`
	RetryOnFailureCount     json.RawMessage `json:"retryOnFailureCount"`
}

// affinity has four fields. Each is taken as a whole from one level. Nil means missing or null.
type affinity struct {
	PodAffinity     *v1.PodAffinity     `json:"podAffinity"`
	PodAntiAffinity *v1.PodAntiAffinity `json:"podAntiAffinity"`
	NodeAffinity    *v1.NodeAffinity    `json:"nodeAffinity"`
	NodeSelector    map[string]string   `json:"nodeSelector"`
}

type resources struct {
	CPU struct {
		Min *resource.Quantity `json:"min"`
		Max *resource.Quantity `json:"max"`
	} `json:"cpu"`
	Memory struct {
		Limit         *resource.Quantity `json:"limit"`
		RuntimeLimits json.RawMessage    `json:"runtimeLimits"`
	} `json:"memory"`
	Storage map[string]storage `json:"storage"`
}

type storage struct {
	Capacity        *resource.Quantity `json:"capacity"`
	StorageClass    *string            `json:"storageClass"`
	Count           *int               `json:"count"`
	Selectors       json.RawMessage    `json:"selectors"`
	HdfsStorageType json.RawMessage    `json:"hdfsStorageType"`
	EmptyDir        json.RawMessage    `json:"emptyDir"`
	FreePercentage  json.RawMessage    `json:"freePercentage"`
}

type logging struct {
	EnableVectorAgent *bool           `json:"enableVectorAgent"`
	Containers        json.RawMessage `json:"containers"`
}

// readSpec reads the resource, and returns its roles by their field in the spec. It reports missing fields, and warns about unknown ones.
func (c *cluster) readSpec() map[string]*roleSpec {
	object := &customResource{}
	c.decode("", c.resource.JSON, object)
	imageField := cmp.Or(c.imageField, "image")
	if raw, found := object.Spec["nodeSelector"]; found && c.opts.ADR {
		c.decode("spec.nodeSelector", raw, &c.nodeSelector)
	}
	roles := map[string]*roleSpec{}
	for _, key := range slices.Sorted(maps.Keys(object.Spec)) {
		raw := object.Spec[key]
		at := slices.IndexFunc(c.roles, func(r role) bool { return r.key == key })
		switch {
		case string(raw) == "null":
		case at >= 0:
			roles[key] = c.readRole(&c.roles[at], raw)
		case key == imageField:
			c.decode("spec."+key, raw, &c.image)
		case key == "clusterConfig":
			c.decode("spec."+key, raw, &c.config)
		case key == "clusterOperation":
			operation := clusterOperation{}
			c.decode("spec."+key, raw, &operation)
			c.stopped = operation.Stopped
			if operation.ReconciliationPaused {
				c.warn("spec.clusterOperation.reconciliationPaused: the operator changes nothing meanwhile; what it would make is shown")
			}
		case key == "objectOverrides":
			c.decode("spec."+key, raw, &c.overrides)
		case key == "nodeSelector" && c.opts.ADR: // already read
		case key == "nodeSelector":
			c.warn("unknown field %q; the API server would leave it out; give it under config.affinity of a role", "spec."+key)
		case !slices.Contains(c.fields, key):
			c.warn("unknown field %q; the API server would leave it out; the roles are %s", "spec."+key, c.roleKeys())
		}
	}
	if c.image.ProductVersion == "" && c.image.Custom == "" {
		c.addProblem("spec.%s.productVersion: missing; give the version of the product", imageField)
	}
	for i := range c.roles {
		switch r := &c.roles[i]; {
		case roles[r.key] != nil || r.optional:
		case r.always:
			roles[r.key] = c.readRole(r, json.RawMessage("{}"))
		default:
			c.addProblem("spec.%s: missing; give the role with its role groups", r.key)
		}
	}
	for _, key := range c.requiredConfig {
		if value, found, _ := unstructured.NestedFieldNoCopy(c.config, key); !found || value == nil {
			c.addProblem("spec.clusterConfig.%s: missing; the CustomResourceDefinition requires it", key)
		}
	}
	return roles
}

func (c *cluster) roleKeys() string {
	var keys []string
	for i := range c.roles {
		keys = append(keys, c.roles[i].key)
	}
	return strings.Join(keys, ", ")
}

// readRole reads a role. A flat role becomes a role with one role group without a name.
func (c *cluster) readRole(r *role, raw json.RawMessage) *roleSpec {
	spec, path := &roleSpec{}, "spec."+r.key
	if r.flat {
		flat := &flatRole{}
		c.decode(path, raw, flat)
		spec.RoleGroups = map[string]*roleGroup{"": &flat.roleGroup}
	} else {
		c.decode(path, raw, spec)
		c.readNodeSelector(path, &spec.Level)
		if spec.RoleGroups == nil {
			c.addProblem("%s.roleGroups: missing; give at least one role group", path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.RoleGroups)) {
		at := path + strings.TrimSuffix(".roleGroups."+name, ".roleGroups.")
		if spec.RoleGroups[name] == nil {
			spec.RoleGroups[name] = &roleGroup{}
		}
		g := spec.RoleGroups[name]
		if g.Replicas != nil && *g.Replicas < 0 {
			c.addProblem("%s.replicas: %d is less than 0; give 0 or more", at, *g.Replicas)
		}
		c.readNodeSelector(at, &g.Level)
		for _, selectors := range []map[string]string{c.nodeSelector, spec.NodeSelector, g.NodeSelector} {
			if selectors != nil && (g.Config.Affinity.NodeSelector != nil || spec.Config.Affinity.NodeSelector != nil) {
				c.addProblem("%s: got both the deprecated nodeSelector and affinity.nodeSelector, which ADR026 forbids; keep affinity.nodeSelector", at)
				break
			}
		}
	}
	if r.flat {
		return spec
	}
	if b := spec.RoleConfig.PodDisruptionBudget.MaxUnavailable; b != nil && *b < 0 {
		c.addProblem("%s.roleConfig.podDisruptionBudget.maxUnavailable: %d is less than 0; give 0 or more", path, *b)
	}
	return spec
}

// readNodeSelector keeps the node selector beside the affinity under ADR026, and otherwise warns about it and drops it.
func (c *cluster) readNodeSelector(path string, l *Level) {
	const unknown = "%s: unknown field %q; the API server would leave it out; give it under config.affinity"
	switch {
	case c.opts.ADR && l.NodeSelector == nil:
		l.NodeSelector = l.Config.Selector
	case c.opts.ADR:
	case l.NodeSelector != nil:
		c.warn(unknown, path, "nodeSelector")
		l.NodeSelector = nil
	case l.Config.Selector != nil:
		c.warn(unknown, path, "config.nodeSelector")
	}
}

// decode decodes a part of the resource. Unknown fields become warnings.
func (c *cluster) decode(path string, raw json.RawMessage, into any) {
	if path != "" {
		path += ": "
	}
	warnings, err := manifest.DecodeResource(raw, into)
	for _, warning := range warnings {
		c.warn("%s%s", path, warning)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			c.addProblem("%s%s", path, strings.TrimSpace(line))
		}
	}
}

// configText returns a string in spec.clusterConfig, or "".
func (c *cluster) configText(path ...string) string {
	value, _, _ := unstructured.NestedString(c.config, path...)
	return value
}

// reference returns the image of the product's containers. Only its name matters: the scheduler compares it with the images on nodes.
func (i *image) reference(app string) string {
	if i.Custom != "" {
		return i.Custom
	}
	return fmt.Sprintf("%s/%s:%s", cmp.Or(i.Repo, "oci.stackable.tech/sdp"), app, i.version())
}

// version returns the value of the label app.kubernetes.io/version.
func (i *image) version() string {
	if i.StackableVersion == "" {
		return i.ProductVersion
	}
	return i.ProductVersion + "-stackable" + i.StackableVersion
}
