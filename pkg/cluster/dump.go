package cluster

// Dumped reports whether the object comes from a cluster, as kubectl get prints it: only an API server sets resourceVersion. An API server
// has accepted such an object, so it is not an error of the user who provides the dump.
func Dumped(obj Object) bool { return obj.GetResourceVersion() != "" }

// AssumedAnnotation marks an object that nobody gave, and that other objects prove to be there.
const AssumedAnnotation = "faultline.dev/assumed"

// Assumed reports whether nobody gave the object.
func Assumed(obj Object) bool { return obj.GetAnnotations()[AssumedAnnotation] != "" }
