// Package sched is the engine: the real kube-scheduler, v1.37.1, deciding in memory. In Faultline only this package and package memo, which
// caches plugins' answers, import k8s.io/kubernetes/pkg/scheduler.
//
// scheduler.New builds the scheduler and its cache, and build makes the profiles and their plugins. Nothing is started, so there is no API
// server, no informer traffic and no background goroutine. Place then does for each pod what scheduleOne does, with the same exported
// functions: Cache.UpdateSnapshot, SchedulePod, RunPostFilterPlugins, RunReservePluginsReserve. Filters, scores, normalisation, host
// selection, preemption and their texts are upstream's.
//
// The rest makes the same input always give the same answer, and gives the answer faster:
//
//   - search.go walks over the nodes in place of SchedulePod, where a memo caches answers;
//   - state.go fills the cache and the listers straight from a cluster.State;
//   - profile.go decorates the framework: it records scores and rejections, and seeds the choice among equal nodes;
//   - preemption.go removes the victims from the cache, where upstream would delete them through the API server;
//   - dryruns.go skips preemption's dry runs on nodes that are known to reject a pod even without the pods that it may preempt;
//   - template_refusal.go skips the attempt for a pod if all nodes are known to reject it as they rejected an equal pod before;
//   - volumes.go does the volume controller's part for claims that wait for their first consumer.
package sched
