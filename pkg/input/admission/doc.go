// Package admission does the API server's work: it takes an object as a user or a controller wrote it, and returns it as the API server
// would store it, or the API server's error.
//
// An object takes two steps. Create needs only the object, and its errors can name the file:
//
//	as written ─ identify ──▶ with namespace, name, UID       create.go, identity.go
//	           ─ default, convert, validate ──▶ valid         kinds.go, validate_create.go
//
// Admit adds objects to a cluster, and needs its state:
//
//	valid ─ update ──▶ with the fields that it keeps of the old object      update.go, validate_update.go
//	      ─ conflicts, owners ──▶ without conflicts with other objects      conflict.go, owners.go
//	      ─ plugins ──▶ with priority, tolerations, class, as it is stored  admit.go, pod.go, claim.go
//
// Controllers create their pods through Pods, the part of the last step that every pod passes. Delete and Terminate remove objects: at
// once, or after a kubelet has ended the pod.
package admission
