package stackable

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// These are the containers with requests that the operators put beside the product's: rust/operator-binary/src of each operator, at the
// commits of products.go. Init containers that request no more than the product's container change nothing, and are left out.
var (
	kcatProber      = requests{"kcat-prober", "100m", "200m", "128Mi"} // controller/build/resource/statefulset.rs of kafka-operator at ef84356
	metricsExporter = requests{"metrics", "100m", "200m", "64Mi"}      // controller/build/resource of airflow-operator at b1c8805 and superset-operator at 43a7908

	druidPrepare = prepareContainer("100m", "400m", "512Mi")
)

// prepareContainer returns the init container prepare. Its requests do not depend on those of the product.
func prepareContainer(cpu, cpuLimit, memory string) []requests {
	return []requests{{"prepare", cpu, cpuLimit, memory}}
}

// fixedContainers returns a function that returns these containers for every cluster.
func fixedContainers(containers ...requests) func(*cluster) []requests {
	return func(*cluster) []requests { return containers }
}

func airflowSidecars(c *cluster) []requests {
	return append(gitSyncContainers(c, "dagsGitSync"), metricsExporter)
}

func nifiSidecars(c *cluster) []requests { return gitSyncContainers(c, "customComponentsGitSync") }

// gitSyncContainers returns a container for each repository in the field: crates/stackable-operator/src/crd/git_sync/v1alpha2_impl.rs of the library.
func gitSyncContainers(c *cluster, field string) []requests {
	var containers []requests
	repositories, _, _ := unstructured.NestedSlice(c.config, field)
	for i := range repositories {
		containers = append(containers, requests{fmt.Sprintf("git-sync-%d", i), "100m", "200m", "64Mi"})
	}
	return containers
}

// opaSidecars returns the containers beside OPA, as in controller/build/resource/daemonset of opa-operator at d877bbf.
func opaSidecars(c *cluster) []requests {
	containers := []requests{{"bundle-builder", "100m", "200m", "128Mi"}}
	if c.config["userInfo"] != nil {
		containers = append(containers, requests{"user-info-fetcher", "100m", "200m", "128Mi"})
	}
	return containers
}

// authentication is the API group of AuthenticationClasses, which have no namespace.
const authentication = "authentication.stackable.tech"

// passwordFileUpdater returns the container that exists if an AuthenticationClass keeps users in a file: authentication/password/mod.rs of
// trino-operator at c8d8891.
func passwordFileUpdater(c *cluster) []requests {
	updater := requests{"password-file-updater", "100m", "200m", "32Mi"}
	classes, _, _ := unstructured.NestedSlice(c.config, "authentication")
	for _, class := range classes {
		reference, _ := class.(map[string]any)
		name, _, _ := unstructured.NestedString(reference, "authenticationClass")
		found := false
		for _, r := range c.all {
			if r.Kind != "AuthenticationClass" || r.Name != name || r.APIVersion != authentication+"/v1alpha1" {
				continue
			}
			found = true
			if _, static, _ := unstructured.NestedFieldNoCopy(decodeObject(r), "spec", "provider", "static"); static {
				return []requests{updater}
			}
		}
		if !found {
			c.warn("spec.clusterConfig.authentication: there is no AuthenticationClass %s among the resources; with a static provider the coordinators "+
				"would have a container %s (%s CPU, %s), too", name, updater.name, updater.cpu, updater.memory)
		}
	}
	return nil
}

// containers returns the product's own container, and the containers beside it that request resources.
func (g *group) containers() []v1.Container {
	own := g.role.requests
	for _, l := range []*Level{g.roleLevel, g.level} { // later levels win
		r := &l.Config.Resources
		own.cpu = quantityOr(r.CPU.Min, own.cpu)
		own.cpuLimit = quantityOr(r.CPU.Max, own.cpuLimit)
		own.memory = quantityOr(r.Memory.Limit, own.memory)
	}
	own.name = cmp.Or(g.role.requests.name, g.app)
	containers := []requests{own}
	if g.role.sidecars != nil {
		containers = append(containers, g.role.sidecars(g.cluster)...)
	}
	vector := false
	for _, l := range []*Level{g.roleLevel, g.level} {
		if enabled := l.Config.Logging.EnableVectorAgent; enabled != nil {
			vector = *enabled
		}
	}
	if vector {
		containers = append(containers, requests{name: "vector", cpu: "250m", cpuLimit: "500m", memory: "128Mi"})
	}
	return g.newContainers(containers)
}

func (g *group) newContainers(containers []requests) []v1.Container {
	made := make([]v1.Container, len(containers))
	for i := range containers {
		made[i] = v1.Container{Name: containers[i].name, Image: g.image.reference(g.app), Resources: containers[i].requirements()}
	}
	return made
}

// quantityOr returns the quantity as text, or otherwise if the quantity is nil.
func quantityOr(quantity *resource.Quantity, otherwise string) string {
	if quantity == nil {
		return otherwise
	}
	return quantity.String()
}

// requirements returns the requests and limits, as in commons/resources.rs of the library: the memory request equals the limit.
func (r *requests) requirements() v1.ResourceRequirements {
	made := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	set := func(list v1.ResourceList, name v1.ResourceName, quantity string) {
		if quantity != "" {
			list[name] = resource.MustParse(quantity)
		}
	}
	set(made.Requests, v1.ResourceCPU, r.cpu)
	set(made.Limits, v1.ResourceCPU, r.cpuLimit)
	set(made.Requests, v1.ResourceMemory, r.memory)
	set(made.Limits, v1.ResourceMemory, r.memory)
	return made
}
