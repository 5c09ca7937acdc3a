// Package admission is the API server: an object goes in as a user or a controller wrote it, and comes out as the API server would store
// it, or with its error.
//
// An object goes two steps. Create needs nothing but the object, and is where its file can still be named:
//
//	as written ─ identify ──▶ with namespace, name, UID       create.go, identity.go
//	           ─ default, convert, validate ──▶ valid         kinds.go, validate_create.go
//
// Admit puts objects into a cluster, and needs to see it:
//
//	valid ─ update ──▶ with what it keeps of the object that it replaces      update.go, validate_update.go
//	      ─ conflicts, owners ──▶ at peace with all other objects             conflict.go, owners.go
//	      ─ plugins ──▶ with priority, tolerations, class, as it is stored    admit.go, pod.go, claim.go
//
// Controllers create their pods through Pods, the part of the last step that every pod passes. Delete and Terminate take objects out
// again: at once, or when a kubelet has ended the pod.
package admission
