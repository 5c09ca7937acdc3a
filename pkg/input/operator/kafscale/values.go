package kafscale

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// values holds the chart's values that decide where pods go; see deploy/helm/kafscale/values.yaml.
type values struct {
	NameOverride     string         `json:"nameOverride"`
	FullnameOverride string         `json:"fullnameOverride"`
	Operator         operatorValues `json:"operator"`
	Console          component      `json:"console"`
	Proxy            component      `json:"proxy"`
	MCP              struct {
		component `json:",inline"`
		Namespace struct {
			Name string `json:"name"`
		} `json:"namespace"`
	} `json:"mcp"`
}

// component holds the values of one workload of the chart.
type component struct {
	Enabled      bool                    `json:"enabled"`
	ReplicaCount int32                   `json:"replicaCount"`
	Image        image                   `json:"image"`
	Resources    v1.ResourceRequirements `json:"resources"`
	NodeSelector map[string]string       `json:"nodeSelector"`
	Tolerations  []v1.Toleration         `json:"tolerations"`
	Affinity     *v1.Affinity            `json:"affinity"`
}

// image holds the values of a container image.
type image struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	UseLatest  bool   `json:"useLatest"`
}

func (i *image) String() string {
	switch {
	case i.UseLatest:
		return i.Repository + ":latest"
	case i.Tag != "":
		return i.Repository + ":" + i.Tag
	}
	return i.Repository + ":" + appVersion
}

// operatorValues holds the values of the operator: those of its own workload, and those of the objects that it creates.
type operatorValues struct {
	component         `json:",inline"`
	BrokerImage       image    `json:"brokerImage"`
	EtcdEndpoints     []string `json:"etcdEndpoints"`
	EtcdReplicas      any      `json:"etcdReplicas"`
	EtcdStorageSize   string   `json:"etcdStorageSize"`
	EtcdStorageClass  string   `json:"etcdStorageClass"`
	EtcdStorageMemory bool     `json:"etcdStorageMemory"`
}

// etcdReplicas returns the given number if it is at least 1, and 3 otherwise, as etcdReplicas in pkg/operator/etcd_resources.go does.
func (o *operatorValues) etcdReplicas() int32 {
	n, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(o.EtcdReplicas)), 10, 32)
	if err != nil || n < 1 {
		return 3
	}
	return int32(n)
}

// chartName is the name of the chart, and appVersion the version of the programs that it installs; see deploy/helm/kafscale/Chart.yaml.
const (
	chartName  = "kafscale"
	appVersion = "v1.5.0"
)

// chartDefaults holds the chart's values, in YAML.
const chartDefaults = `
operator:
  enabled: true
  replicaCount: 1
  image: {repository: ghcr.io/kafscale/kafscale-operator}
  brokerImage: {repository: ghcr.io/kafscale/kafscale-broker}
  etcdReplicas: 3
  etcdEndpoints: ["http://etcd:2379"]
console: {enabled: true, replicaCount: 1, image: {repository: ghcr.io/kafscale/kafscale-console}}
proxy: {replicaCount: 2, image: {repository: ghcr.io/kafscale/kafscale-proxy}}
mcp: {replicaCount: 1, image: {repository: ghcr.io/kafscale/kafscale-mcp}, namespace: {name: kafscale-mcp}}
`

// podFieldWarning matches warnings about values that go unchanged into a pod. An unknown field there cannot be a value of another revision of the
// chart.
var podFieldWarning = regexp.MustCompile(`\.(affinity|resources|tolerations)[.\[]`)

// droppedValueWarning matches warnings about values that would decide where pods go, at a place that no template of the chart reads.
var droppedValueWarning = regexp.MustCompile(`^unknown field "((?:\w+\.)*(?:affinity|nodeName|nodeSelector|priorityClassName|replicas|replicaCount|resources|schedulerName|tolerations|topologySpreadConstraints))"`)

// mergeValues merges the documents over the chart's values, later ones over earlier ones, as Helm does: maps key by key, where null removes a
// key, and everything else as a whole. It ignores unknown values, as Helm does. The error has one line per problem.
func mergeValues(documents []Document) (*values, []string, error) {
	merged, err := yaml.YAMLToJSON([]byte(chartDefaults))
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	var problems []error
	for _, d := range documents {
		data, err := manifest.ToJSON(d.Name, d.Data)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if string(data) == "null" { // a file with comments only
			continue
		}
		given := &values{}
		unknown, err := manifest.DecodeResource(data, given)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				problems = append(problems, fmt.Errorf("%s: %s", d.Name, strings.TrimSpace(line)))
			}
			continue
		}
		if size := given.Operator.EtcdStorageSize; size != "" {
			if _, err := resource.ParseQuantity(size); err != nil {
				problems = append(problems, fmt.Errorf("%s: operator.etcdStorageSize: %q is not a quantity; give, for example, 10Gi", d.Name, size))
			}
		}
		for _, warning := range unknown {
			if podFieldWarning.MatchString(warning) {
				warnings = append(warnings, d.Name+": "+warning)
			} else if value := droppedValueWarning.FindStringSubmatch(warning); value != nil {
				warnings = append(warnings, fmt.Sprintf("%s: %s: the chart has no such value, and Helm drops it without a word", d.Name, value[1]))
			}
		}
		if merged, err = jsonpatch.MergePatch(merged, data); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", d.Name, err))
		}
	}
	if len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	result := &values{}
	_, err = manifest.DecodeResource(merged, result)
	return result, warnings, err
}
