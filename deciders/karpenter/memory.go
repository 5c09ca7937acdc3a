package main

import (
	"encoding/hex"
	"hash/fnv"
	"time"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// memory is what Karpenter has in its process and not in its objects. The next request brings it back.
type memory struct {
	// Started is when Karpenter was first asked: its loops count from then.
	Started time.Time `json:"started"`
	// Names counts the objects that were named, so that no name comes twice.
	Names int `json:"names,omitempty"`

	// Batch is the window in which pods are collected; nil: no pod waits.
	Batch *batch `json:"batch,omitempty"`
	// Seen are the pods that a batch has had and that are still Pending.
	Seen []string `json:"seen,omitempty"`
	// Scheduled is when the last batch was scheduled, and ScheduledOn the state of the cluster afterwards.
	Scheduled   time.Time `json:"scheduled,omitzero"`
	ScheduledOn uint64    `json:"scheduledOn,string,omitempty"`

	// Nominated is until when a node may not be disrupted, since pods are meant for it, by its provider ID.
	Nominated map[string]time.Time `json:"nominated,omitempty"`
	// Awaited are the nodes that the last batch meant for pods: as long as these are Pending, Karpenter means them every ten seconds.
	Awaited []string `json:"awaited,omitempty"`

	// Quiet is the state of the cluster in which the last disruption loop found nothing to do.
	Quiet uint64 `json:"quiet,string,omitempty"`
	// Proposal is the command that is validated after 15 seconds.
	Proposal *proposal `json:"proposal,omitempty"`
	// Commands are the commands that wait for their replacements.
	Commands []command `json:"commands,omitempty"`

	// Pods are the pods of each NodeClaim, as far as a change starts consolidateAfter anew: four bytes each.
	Pods map[string]string `json:"pods,omitempty"`
	// Said is until when an event is not said again.
	Said map[string]time.Time `json:"said,omitempty"`
}

type batch struct {
	Opened time.Time `json:"opened"`
	Last   time.Time `json:"last"` // when the last pod came
}

// proposal is a command as it was computed: what its validation compares, and what its execution needs.
type proposal struct {
	Method int       `json:"method"` // its index in the order of the methods
	Until  time.Time `json:"until"`
	Nodes  []string  `json:"nodes"`
	// Replacement are the types that may replace the nodes, the cheapest first, and CapacityTypes their capacity types; none: nothing replaces
	// them.
	Replacement   []string `json:"replacement,omitempty"`
	CapacityTypes []string `json:"capacityTypes,omitempty"`
}

// command is a command that is being executed.
type command struct {
	Method       int       `json:"method"`
	ID           string    `json:"id"`
	Created      time.Time `json:"created"`
	Why          string    `json:"why,omitempty"` // its reason and savings
	NodeClaims   []string  `json:"nodeClaims"`
	Replacements []string  `json:"replacements,omitempty"`
}

// shorten makes a key of 16 characters of a longer one.
func shorten(key string) string {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	return hex.EncodeToString(hash.Sum(nil))
}

// alphabet has the letters of the names that the API server generates.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

func suffix(of uint64) string {
	name := make([]byte, 5)
	for i := range name {
		name[i] = alphabet[of%uint64(len(alphabet))]
		of /= uint64(len(alphabet))
	}
	return string(name)
}

func deleted(claim *v1.NodeClaim) bool { return claim.DeletionTimestamp != nil }
