package kafscale

import (
	"errors"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
)

const (
	group   = "kafscale.io"
	version = "v1alpha1"
	kind    = "KafscaleCluster"
)

// crd is a KafscaleCluster as defined by its CRD, deploy/helm/kafscale/crds/kafscaleclusters.yaml. Fields that do not affect pods have the
// type any. The CRD has no field for the placement of pods.
type crd struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       *struct {
		Brokers *struct {
			Replicas       *int32         `json:"replicas"`
			Resources      map[string]any `json:"resources"`
			Image          any            `json:"image"`
			AdvertisedHost any            `json:"advertisedHost"`
			AdvertisedPort any            `json:"advertisedPort"`
			Service        any            `json:"service"`
		} `json:"brokers"`
		S3 *struct {
			Bucket               *string `json:"bucket"`
			Region               *string `json:"region"`
			Endpoint             any     `json:"endpoint"`
			ReadBucket           any     `json:"readBucket"`
			ReadRegion           any     `json:"readRegion"`
			ReadEndpoint         any     `json:"readEndpoint"`
			KMSKeyARN            any     `json:"kmsKeyArn"`
			CredentialsSecretRef any     `json:"credentialsSecretRef"`
		} `json:"s3"`
		Etcd struct {
			Endpoints   []string `json:"endpoints"`
			UseKubeEtcd any      `json:"useKubeEtcd"`
		} `json:"etcd"`
		LfsProxy struct {
			Enabled                bool   `json:"enabled"`
			Replicas               *int32 `json:"replicas"`
			Image                  any    `json:"image"`
			ImagePullPolicy        any    `json:"imagePullPolicy"`
			Backends               any    `json:"backends"`
			AdvertisedHost         any    `json:"advertisedHost"`
			AdvertisedPort         any    `json:"advertisedPort"`
			BackendCacheTTLSeconds any    `json:"backendCacheTTLSeconds"`
			Service                any    `json:"service"`
			HTTP                   any    `json:"http"`
			Metrics                any    `json:"metrics"`
			Health                 any    `json:"health"`
			S3                     any    `json:"s3"`
		} `json:"lfsProxy"`
		UI     any `json:"ui"`
		Config any `json:"config"`
	} `json:"spec"`
	Status any `json:"status"`
}

// clusterSettings holds the settings of a KafscaleCluster that matter for pods.
type clusterSettings struct {
	name, namespace string
	brokers         int32
	etcdEndpoints   []string
	lfsProxies      int32 // 0 if disabled
}

// readResource returns the settings of the resource, and warnings about fields that the API server prunes. The error has one line per problem.
func readResource(r *operator.Resource) (*clusterSettings, []string, error) {
	if _, given, _ := strings.Cut(r.APIVersion, "/"); given != version {
		return nil, nil, fmt.Errorf("apiVersion: unknown version %s of %s: use %s/%s", given, kind, group, version)
	}
	decoded := &crd{}
	warnings, err := r.Decode(decoded)
	if err != nil {
		return nil, nil, err
	}
	var problems []error
	missing := func(path string) { problems = append(problems, fmt.Errorf("%s: missing", path)) }
	atLeast1 := func(path string, n *int32) {
		if n != nil && *n < 1 {
			problems = append(problems, fmt.Errorf("%s: %d is less than 1", path, *n))
		}
	}
	spec := decoded.Spec
	if spec == nil {
		return nil, nil, errors.New("spec: missing; give at least s3.bucket, s3.region and brokers")
	}
	if spec.S3 == nil || spec.S3.Bucket == nil {
		missing("spec.s3.bucket")
	}
	if spec.S3 == nil || spec.S3.Region == nil {
		missing("spec.s3.region")
	}
	c := &clusterSettings{name: r.Name, namespace: r.Namespace, brokers: 3, etcdEndpoints: dropBlank(spec.Etcd.Endpoints)}
	if spec.Brokers == nil {
		missing("spec.brokers")
	} else {
		atLeast1("spec.brokers.replicas", spec.Brokers.Replicas)
		if spec.Brokers.Replicas != nil {
			c.brokers = *spec.Brokers.Replicas
		}
		if len(spec.Brokers.Resources) > 0 {
			warnings = append(warnings, "spec.brokers.resources has no effect: its CustomResourceDefinition says nothing of what is in it, so that the API server "+
				"leaves requests and limits out, and the brokers are BestEffort")
		}
	}
	if spec.LfsProxy.Replicas != nil && *spec.LfsProxy.Replicas < 0 {
		problems = append(problems, fmt.Errorf("spec.lfsProxy.replicas: %d is less than 0", *spec.LfsProxy.Replicas))
	}
	if spec.LfsProxy.Enabled {
		c.lfsProxies = 2
		if spec.LfsProxy.Replicas != nil {
			c.lfsProxies = *spec.LfsProxy.Replicas
		}
	}
	return c, warnings, errors.Join(problems...)
}

// dropBlank returns those endpoints that are not blank.
func dropBlank(given []string) []string {
	return list.Where(given, func(endpoint string) bool { return strings.TrimSpace(endpoint) != "" })
}
