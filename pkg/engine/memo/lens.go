package memo

import (
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
)

// handle is the handle of a plugin that sees the cluster through a lens.
type handle struct {
	fwk.Handle
	lens      *lens
	informers informers.SharedInformerFactory
}

func (h handle) SnapshotSharedLister() fwk.SharedLister { return h.lens }

func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }

// lens is the snapshot, or some of its nodes. A plugin that walks over pods gets the same sums from the nodes that have pods which matter
// to it.
type lens struct {
	fwk.SharedLister
	nodes []fwk.NodeInfo // nil: all
}

func (l *lens) NodeInfos() fwk.NodeInfoLister {
	if l.nodes == nil {
		return l.SharedLister.NodeInfos()
	}
	return some{l.SharedLister.NodeInfos(), l.nodes}
}

// through lets the function see only these nodes.
func (l *lens) through(nodes []fwk.NodeInfo, f func()) {
	l.nodes = nodes
	f()
	l.nodes = nil
}

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
