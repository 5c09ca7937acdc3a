package stackable

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// platformClasses lists the StorageClasses of the platform's own secret-operator and listener-operator. All nodes reach their volumes.
var platformClasses = []string{"secrets.stackable.tech", "listeners.stackable.tech"}

// completeOverrides completes the containers and volumes that podOverrides name but that this package does not create, because they do not affect
// where the pod goes: containers that request nothing, and volumes for configuration, secrets and logs.
func (c *cluster) completeOverrides(spec *v1.PodSpec, claims []v1.PersistentVolumeClaim) {
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if containers[i].Image == "" {
				containers[i].Image = c.image.reference(c.app)
				c.assume(fmt.Sprintf("container %s, which podOverrides give no image, is one that the operator makes, and asks for what they say alone", containers[i].Name))
			}
		}
	}
	there := map[string]bool{}
	for i := range claims {
		there[claims[i].Name] = true
	}
	ofOperator := map[string]bool{}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(volume v1.Volume) bool {
		class := storageClassOf(&volume)
		there[volume.Name] = true
		ofOperator[volume.Name] = slices.Contains(platformClasses, class) || !isComplete(&volume)
		if ofOperator[volume.Name] && !slices.Contains(platformClasses, class) {
			c.assumeVolume(volume.Name)
		}
		return ofOperator[volume.Name]
	})
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = slices.DeleteFunc(containers[i].VolumeMounts, func(mount v1.VolumeMount) bool {
				if !there[mount.Name] {
					c.assumeVolume(mount.Name)
				}
				return !there[mount.Name] || ofOperator[mount.Name]
			})
		}
	}
}

func (c *cluster) assumeVolume(name string) {
	c.assume(fmt.Sprintf("volume %s, which podOverrides name, is one that the operator makes", name))
}

// storageClassOf returns the StorageClass of a volume that is created with its pod, or "".
func storageClassOf(volume *v1.Volume) string {
	if volume.Ephemeral == nil || volume.Ephemeral.VolumeClaimTemplate == nil || volume.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName == nil {
		return ""
	}
	return *volume.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName
}

// isComplete reports whether the volume is complete, not only an override of parts of a volume.
func isComplete(volume *v1.Volume) bool {
	if e := volume.Ephemeral; e != nil {
		return e.VolumeClaimTemplate != nil && len(e.VolumeClaimTemplate.Spec.AccessModes) > 0
	}
	return volume.VolumeSource != v1.VolumeSource{}
}
