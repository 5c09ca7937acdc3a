package cluster

// Dumped tells whether the object comes from a cluster, as kubectl get prints it: nothing but an API server gives objects a
// resourceVersion. What an API server has taken is no mistake of whoever gives the dump.
func Dumped(obj Object) bool { return obj.GetResourceVersion() != "" }
