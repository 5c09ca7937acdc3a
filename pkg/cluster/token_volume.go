package cluster

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
)

// WithoutToken returns the spec of a pod without the volume that the API server adds for the service account's token. The volume's name
// differs in each pod.
func WithoutToken(spec v1.PodSpec) v1.PodSpec {
	const prefix = "kube-api-access-"
	token := func(volume v1.Volume) bool { return volume.Projected != nil && strings.HasPrefix(volume.Name, prefix) }
	if !slices.ContainsFunc(spec.Volumes, token) {
		return spec
	}
	spec.Volumes = list.Without(spec.Volumes, token)
	mounting := func(containers []v1.Container) []v1.Container {
		containers = slices.Clone(containers)
		for i := range containers {
			containers[i].VolumeMounts = list.Without(containers[i].VolumeMounts, func(mount v1.VolumeMount) bool {
				return strings.HasPrefix(mount.Name, prefix)
			})
		}
		return containers
	}
	spec.Containers, spec.InitContainers = mounting(spec.Containers), mounting(spec.InitContainers)
	return spec
}
