package cluster

// Dumped reports whether the object comes from a cluster, as kubectl get prints it: only an API server sets resourceVersion. What an API
// server accepted is not a mistake of whoever gives the dump.
func Dumped(obj Object) bool { return obj.GetResourceVersion() != "" }
