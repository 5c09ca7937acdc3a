package memo

import (
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
)

// handle is a plugin's handle to the scheduler. Its snapshot is a [lens].
type handle struct {
	fwk.Handle
	lens      *lens
	informers informers.SharedInformerFactory
}

func (h handle) SnapshotSharedLister() fwk.SharedLister { return h.lens }

func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }

// lens is the scheduler's snapshot, which can be narrowed to some of the nodes. A plugin that walks over pods computes the same sums from
// the nodes with pods that concern it as from all nodes.
type lens struct {
	fwk.SharedLister
	nodes []fwk.NodeInfo // nil: all nodes
}

func (l *lens) NodeInfos() fwk.NodeInfoLister {
	if l.nodes == nil {
		return l.SharedLister.NodeInfos()
	}
	return some{l.SharedLister.NodeInfos(), l.nodes}
}

// through calls f while the lens shows only the given nodes.
func (l *lens) through(nodes []fwk.NodeInfo, f func()) {
	l.nodes = nodes
	f()
	l.nodes = nil
}

// some lists some nodes of a snapshot.
type some struct {
	fwk.NodeInfoLister
	nodes []fwk.NodeInfo
}

func (s some) List() ([]fwk.NodeInfo, error)                                 { return s.nodes, nil }
func (s some) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)             { return s.nodes, nil }
func (s some) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return s.nodes, nil }

// empty is a node without its pods.
type empty struct{ fwk.NodeInfo }

func (empty) GetPods() []fwk.PodInfo { return nil }
