package memo

import (
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
)

// pluginHandle is a plugin's handle to the scheduler. Its snapshot is a [narrowedSnapshot].
type pluginHandle struct {
	fwk.Handle
	snapshot  *narrowedSnapshot
	informers informers.SharedInformerFactory
}

func (h pluginHandle) SnapshotSharedLister() fwk.SharedLister { return h.snapshot }

func (h pluginHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }

// narrowedSnapshot is the scheduler's snapshot, which can be narrowed to some of the nodes. A plugin that walks over pods computes the same sums from
// the nodes with pods that concern it as from all nodes.
type narrowedSnapshot struct {
	fwk.SharedLister
	nodes []fwk.NodeInfo // nil: all nodes
}

func (l *narrowedSnapshot) NodeInfos() fwk.NodeInfoLister {
	if l.nodes == nil {
		return l.SharedLister.NodeInfos()
	}
	return narrowedNodes{l.SharedLister.NodeInfos(), l.nodes}
}

// narrow calls f while the lens shows only the given nodes.
func (l *narrowedSnapshot) narrow(nodes []fwk.NodeInfo, f func()) {
	l.nodes = nodes
	f()
	l.nodes = nil
}

// narrowedNodes lists some nodes of a snapshot.
type narrowedNodes struct {
	fwk.NodeInfoLister
	nodes []fwk.NodeInfo
}

func (s narrowedNodes) List() ([]fwk.NodeInfo, error)                     { return s.nodes, nil }
func (s narrowedNodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return s.nodes, nil }
func (s narrowedNodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.nodes, nil
}

// emptyNode is a node without its pods.
type emptyNode struct{ fwk.NodeInfo }

func (emptyNode) GetPods() []fwk.PodInfo { return nil }
