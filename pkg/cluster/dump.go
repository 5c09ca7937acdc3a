package cluster

// FromDump reports whether the object comes from a cluster, as kubectl get prints it: only an API server sets resourceVersion. An API server
// has accepted such an object, so it is not an error of the user who provides the dump.
func FromDump(obj Object) bool { return obj.GetResourceVersion() != "" }

// AssumedAnnotation marks an object that is not in the input, but that other objects prove to exist.
const AssumedAnnotation = "faultline.dev/assumed"

// IsAssumed reports whether the object is not in the input, but assumed to exist.
func IsAssumed(obj Object) bool { return obj.GetAnnotations()[AssumedAnnotation] != "" }
