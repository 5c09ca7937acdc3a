package report

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/faultline/faultline/pkg/cluster"
)

// Claim is a claim of a pod on devices.
type Claim struct {
	// Name is the claim's name in the pod's spec. It is empty for the claim that was made for the pod's extended resources.
	Name string `json:"name,omitempty"`
	// Claim is the name of the ResourceClaim. It is empty until one is made from the claim's template.
	Claim string `json:"claim,omitempty"`
	// Devices are the devices that are allocated to the claim, each as driver/pool/device.
	Devices []string `json:"devices,omitempty"`
}

// Claims are the ResourceClaims of a cluster, by name.
type Claims map[types.NamespacedName]*resourcev1.ResourceClaim

// IndexClaims returns the ResourceClaims of a state, by name.
func IndexClaims(state *cluster.State) Claims {
	claims := Claims{}
	for _, claim := range state.ResourceClaims {
		claims[cluster.NameOf(claim)] = claim
	}
	return claims
}

// ForPod returns the claims of the pod, with the devices that are allocated to them.
func (c Claims) ForPod(pod *v1.Pod) []Claim {
	var all []Claim
	add := func(name, claim string) {
		of := Claim{Name: name, Claim: claim}
		if known := c[types.NamespacedName{Namespace: pod.Namespace, Name: claim}]; known != nil && known.Status.Allocation != nil {
			for _, device := range known.Status.Allocation.Devices.Results {
				of.Devices = append(of.Devices, device.Driver+"/"+device.Pool+"/"+device.Device)
			}
		}
		all = append(all, of)
	}
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		switch {
		case err != nil:
			add(pod.Spec.ResourceClaims[i].Name, "")
		case name != nil:
			add(pod.Spec.ResourceClaims[i].Name, *name)
		}
	}
	if made := pod.Status.ExtendedResourceClaimStatus; made != nil {
		add("", made.ResourceClaimName)
	}
	return all
}

// FormatDevices lists the devices of the claims, separated by commas. Devices in the pool that has the node's name lose their driver and pool.
func FormatDevices(node string, claims []Claim) string {
	var devices []string
	for _, claim := range claims {
		for _, device := range claim.Devices {
			_, local, _ := strings.Cut(device, "/")
			if own, is := strings.CutPrefix(local, node+"/"); is {
				device = own
			}
			devices = append(devices, device)
		}
	}
	return strings.Join(devices, ", ")
}
