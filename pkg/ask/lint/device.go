package lint

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// deviceClaimMissing finds pods that wait for ever, since the claim on devices that they name is not there, or its template, or its class.
// The API server takes all of these: somebody may create what is missing.
func deviceClaimMissing(_ *look, s *subject) []Finding {
	var found []Finding
	for i, claim := range s.pod.Spec.ResourceClaims {
		field := fmt.Sprintf("%s[%d]", s.field("resourceClaims"), i)
		var spec *resourcev1.ResourceClaimSpec
		var what string
		switch {
		case claim.ResourceClaimName != nil:
			what = "ResourceClaim " + *claim.ResourceClaimName
			for _, known := range s.step.State.ResourceClaims {
				if known.Namespace == s.owner.Namespace && known.Name == *claim.ResourceClaimName {
					spec = &known.Spec
				}
			}
		case claim.ResourceClaimTemplateName != nil:
			what = "ResourceClaimTemplate " + *claim.ResourceClaimTemplateName
			for _, known := range s.step.State.ResourceClaimTemplates {
				if known.Namespace == s.owner.Namespace && known.Name == *claim.ResourceClaimTemplateName {
					spec = &known.Spec.Spec
				}
			}
		default:
			continue
		}
		if spec == nil {
			found = append(found, Finding{Field: field, Message: what + " does not exist in namespace " + s.owner.Namespace + ": the pods stay Pending", Fix: "create it"})
			continue
		}
		for _, class := range missingClasses(s, spec) {
			found = append(found, Finding{Field: field, Message: fmt.Sprintf("%s asks for devices of DeviceClass %s, which does not exist: the pods stay Pending", what, class),
				Fix: "create the DeviceClass, or name one that exists"})
		}
	}
	return found
}

// missingClasses returns the classes that the claim names and that do not exist.
func missingClasses(s *subject, spec *resourcev1.ResourceClaimSpec) []string {
	known := map[string]bool{}
	for _, class := range s.step.State.DeviceClasses {
		known[class.Name] = true
	}
	var missing []string
	add := func(class string) {
		if !known[class] {
			known[class] = true
			missing = append(missing, class)
		}
	}
	for _, request := range spec.Devices.Requests {
		if request.Exactly != nil {
			add(request.Exactly.DeviceClassName)
		}
		for _, alternative := range request.FirstAvailable {
			add(alternative.DeviceClassName)
		}
	}
	return missing
}
