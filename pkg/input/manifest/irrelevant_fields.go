package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Tools that redact dumps replace values by others that an API server would refuse: a podCIDR by REDACTED/24, or a machineID by 0. If no
// placement depends on the field, the object is read without it.

// irrelevantFields lists, by kind, the fields of an object that no placement depends on; [] is any item of a list or any key of a map. It leaves
// out fields that validation demands, such as the name of a container.
var (
	metadataFields   = []string{"metadata.annotations[]", "metadata.creationTimestamp", "metadata.managedFields", "metadata.selfLink", "metadata.clusterName"}
	statusFields     = joinPaths("status.conditions[]", "lastHeartbeatTime", "lastProbeTime", "lastTransitionTime", "lastUpdateTime", "message")
	irrelevantFields = map[string][]string{
		"Node": slices.Concat(
			joinPaths("spec", "configSource", "externalID", "podCIDR", "podCIDRs", "providerID"),
			joinPaths("status", "addresses", "config", "daemonEndpoints", "phase", "runtimeHandlers", "volumesAttached", "volumesInUse"),
			joinPaths("status.nodeInfo", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID", "osImage", "swap", "systemUUID")),
		"Pod": slices.Concat(podFields(""), joinPaths("status", "hostIP", "hostIPs", "message", "podIP", "podIPs", "qosClass", "startTime"),
			joinPaths("status.containerStatuses[]", containerStatusFields...), joinPaths("status.initContainerStatuses[]", containerStatusFields...),
			[]string{"status.ephemeralContainerStatuses"}),
		"Deployment":            podFields("spec.template."),
		"ReplicaSet":            podFields("spec.template."),
		"StatefulSet":           podFields("spec.template."),
		"DaemonSet":             podFields("spec.template."),
		"ReplicationController": podFields("spec.template."),
		"Job":                   podFields("spec.template."),
		"CronJob":               podFields("spec.jobTemplate.spec.template."),
		"Service": slices.Concat([]string{"status"}, joinPaths("spec", "clusterIP", "clusterIPs", "externalIPs", "externalName", "healthCheckNodePort",
			"ipFamilies", "ipFamilyPolicy", "loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges", "sessionAffinityConfig"),
			joinPaths("spec.ports[]", "appProtocol", "nodePort", "targetPort")),
		"PersistentVolume": slices.Concat([]string{"spec.mountOptions"}, joinPaths("spec.csi", "controllerExpandSecretRef", "controllerPublishSecretRef",
			"fsType", "nodeExpandSecretRef", "nodePublishSecretRef", "nodeStageSecretRef", "volumeAttributes")),
		"StorageClass": {"mountOptions", "parameters"},
	}
	containerStatusFields = []string{"containerID", "image", "imageID", "lastState", "ready", "restartCount", "started", "state", "user", "volumeMounts"}
)

// podFields returns those fields of a pod, or of a pod template under the path.
func podFields(path string) []string {
	container := []string{"args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "readinessProbe", "resizePolicy", "securityContext", "startupProbe",
		"stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty", "volumeMounts", "workingDir"}
	fields := slices.Concat(joinPaths("spec", "automountServiceAccountToken", "dnsConfig", "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases",
		"hostname", "imagePullSecrets", "securityContext", "serviceAccount", "setHostnameAsFQDN", "subdomain"),
		joinPaths("spec.containers[]", container...), joinPaths("spec.initContainers[]", container...),
		joinPaths("spec.volumes[]", "configMap", "downwardAPI", "hostPath", "nfs", "projected", "secret"))
	if path != "" {
		fields = append(fields, metadataFields...)
	}
	for i := range fields {
		fields[i] = path + fields[i]
	}
	return fields
}

// joinPaths returns the paths of the fields below the path.
func joinPaths(path string, names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = path + "." + name
	}
	return paths
}

// dropIrrelevantFields returns the item without the fields that have problems, and a flaw for each of them. It returns false if a placement
// depends on one of these fields.
func (it item) dropIrrelevantFields(problems []string) (item, []Flaw, bool) {
	if !it.dumped() {
		return it, nil, false
	}
	object, err := decodeFields(it.json)
	if err != nil {
		return it, nil, false
	}
	var flaws []Flaw
	for _, problem := range problems {
		path, places := findIrrelevantField(it.header.Kind, problem)
		if path == nil {
			return it, nil, false
		}
		// An API server writes the first of a list of addresses into a second field, too: podCIDR beside podCIDRs.
		removed := removeAt(object, path)
		if first, plural := strings.CutSuffix(path[len(path)-1], "s"); plural {
			removed = removeAt(object, append(slices.Clone(path[:len(path)-1]), first)) || removed
		}
		if !removed && !slices.ContainsFunc(flaws, func(f Flaw) bool { return f.Field == places }) {
			return it, nil, false // the field is missing, so removing it mends nothing
		}
		flaw := it.flaw(problem, false)
		flaw.Field = places
		flaws = append(flaws, flaw)
	}
	if it.json, err = json.Marshal(object); err != nil {
		return it, nil, false
	}
	return it, flaws, true
}

// findIrrelevantField returns the path of the field with the problem, and the name of the field, such as spec.containers[].env. It returns nil
// if a placement depends on the field.
func findIrrelevantField(kind, problem string) (path []string, name string) {
	steps := pathOfProblem(problem)
	for _, field := range slices.Concat(metadataFields, statusFields, irrelevantFields[kind]) {
		pattern := pathOfProblem(field + ":")
		if len(pattern) > len(steps) {
			continue
		}
		matches := true
		for i, step := range pattern {
			matches = matches && (step == steps[i] || step == anyItem)
		}
		if last := steps[len(pattern)-1]; matches && !(strings.HasSuffix(field, "annotations[]") && isKubernetesAnnotation(last)) {
			return steps[:len(pattern)], field
		}
	}
	return nil, ""
}

// isKubernetesAnnotation reports whether Kubernetes gives the annotation a meaning.
func isKubernetesAnnotation(annotation string) bool {
	domain, _, _ := strings.Cut(annotation, "/")
	return domain == "kubernetes.io" || domain == "k8s.io" || strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io")
}

// anyItem is the step of a pattern for any item.
const anyItem = ""

// pathOfProblem returns the names and positions in the path with which a problem begins: spec, containers, 0 and env for
// "spec.containers[0].env: Invalid value". It returns nil for a problem of the whole object.
func pathOfProblem(problem string) (steps []string) {
	for rest := problem; ; {
		end := strings.IndexAny(rest, ".[: ")
		if end < 0 || rest[end] == ' ' {
			return nil
		}
		if end > 0 {
			steps = append(steps, rest[:end])
		}
		switch rest[end] {
		case ':':
			return steps
		case '[':
			key, after, found := strings.Cut(rest[end+1:], "]")
			if !found {
				return nil
			}
			steps, rest = append(steps, key), after
		default:
			rest = rest[end+1:]
		}
	}
}

// removeAt removes the field at the path, and reports whether it was there.
func removeAt(value any, path []string) bool {
	switch v := value.(type) {
	case map[string]any:
		next, found := v[path[0]]
		if found && len(path) == 1 {
			delete(v, path[0])
		}
		return found && (len(path) == 1 || removeAt(next, path[1:]))
	case []any:
		i, err := strconv.Atoi(path[0])
		return err == nil && 0 <= i && i < len(v) && len(path) > 1 && removeAt(v[i], path[1:])
	}
	return false
}

// decodeFields returns the fields of a JSON object, with numbers as they are written.
func decodeFields(object []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var fields map[string]any
	err := decoder.Decode(&fields)
	return fields, err
}
