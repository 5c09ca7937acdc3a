package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
)

// Snapshot is a cluster in which a caller can try where pods fit. It runs the real PreFilter and Filter plugins; it scores and binds
// nothing. Nodes and pods can be added and removed, and all changes since a Fork can be reverted. A Snapshot is not safe for concurrent
// use.
type Snapshot struct {
	// Last is the index of the node that Find chose last. The next search begins behind it.
	Last int

	fwk.SharedLister // the engine's snapshot, for pod groups
	engine           *Engine
	plugins          framework.Framework
	nodes            []fwk.NodeInfo
	index            map[string]int // of nodes, by name
	forks            []fork
	filled           map[string]filledNode // by node: its content at the last Fill
	infos            map[*v1.Pod]*framework.PodInfo
	asked            map[*v1.Pod]fwk.CycleState // the state of the last PreFilter of each pod that was checked since the last Fill
	early            sets.Set[string]           // the filters before the first one that reads more than the pod and the node

	affinity *affinityNodes // nil: not up to date
}

// affinityNodes lists the nodes with pods that have affinity, required anti-affinity, and required anti-affinity over another key than
// hostname.
type affinityNodes struct{ any, anti, wide []fwk.NodeInfo }

// fork is the state that Revert restores.
type fork struct {
	nodes        []fwk.NodeInfo
	editable     map[fwk.NodeInfo]bool // nodes made since the fork, which may be changed in place
	nodesRemoved bool                  // whether nodes were removed
	affinity     *affinityNodes
}

// filledNode is a node with its pods. The next Fill with the same node and pods uses info again.
type filledNode struct {
	node *v1.Node
	pods []*v1.Pod
	info *framework.NodeInfo
}

// TooSkewed is the reason that PodTopologySpread gives for a node on which one more pod would exceed the maximum skew.
const TooSkewed = podtopologyspread.ErrReasonConstraintsNotMatch

// NewSnapshot returns an empty snapshot with the plugins of the configuration's first profile.
func NewSnapshot(config *Config) (*Snapshot, error) {
	s := &Snapshot{}
	engine, err := engineFor(config.Plain(), Ties{}, s)
	if err != nil {
		return nil, err
	}
	s.engine = engine
	s.plugins, s.early = engine.profiles[config.api.Profiles[0].SchedulerName].Framework, sets.New[string]()
	for _, filter := range s.plugins.ListPlugins().Filter.Enabled {
		if !memo.ReadsOneNode(filter.Name) {
			break
		}
		s.early.Insert(filter.Name)
	}
	return s, nil
}

// Close releases the snapshot's resources.
func (s *Snapshot) Close() { s.engine.Close() }

// Fill replaces the content by the nodes and by the pods that are on one of them, or have one nominated. All other objects that plugins
// read are those of the state. Once the context has ended, no pod fits anywhere, so the caller must discard the results.
func (s *Snapshot) Fill(ctx context.Context, state *cluster.State, nodes []*v1.Node, pods []*v1.Pod) error {
	before := *s.engine.state
	s.engine.state, s.engine.placeContext = state, ctx
	s.engine.devices.Sync(state)
	if err := s.engine.fillListers(before, state, true); err != nil {
		return err
	}
	on := make(map[string][]*v1.Pod, len(nodes))
	for _, pod := range pods {
		if name := cmp.Or(pod.Spec.NodeName, pod.Status.NominatedNodeName); name != "" {
			on[name] = append(on[name], pod)
		}
	}
	last := s.filled
	s.filled, s.nodes, s.index, s.affinity = make(map[string]filledNode, len(nodes)), nil, make(map[string]int, len(nodes)), nil
	infos := make(map[*v1.Pod]*framework.PodInfo, len(pods))
	for _, node := range nodes {
		is := filledNode{node, on[node.Name], nil}
		if was := last[node.Name]; was.node == node && slices.Equal(was.pods, is.pods) {
			is.info = was.info
		} else {
			is.info = framework.NewNodeInfo()
			is.info.SetNode(node)
		}
		for _, pod := range is.pods {
			info := s.infos[pod]
			if info == nil {
				info, _ = framework.NewPodInfo(pod) // a term that does not parse is no reason to leave the pod out
			}
			if infos[pod] = info; len(is.info.Pods) < len(is.pods) {
				is.info.AddPodInfo(info)
			}
		}
		s.index[node.Name] = len(s.nodes)
		s.nodes, s.filled[node.Name] = append(s.nodes, is.info), is
	}
	s.infos, s.forks, s.asked = infos, nil, map[*v1.Pod]fwk.CycleState{}
	s.Fork() // so that later changes copy what is filled
	return nil
}

// Fork begins changes that Revert undoes and Commit keeps. Forks nest.
func (s *Snapshot) Fork() {
	s.forks = append(s.forks, fork{slices.Clone(s.nodes), map[fwk.NodeInfo]bool{}, false, s.affinity})
}

// Revert restores the snapshot as it was at the last Fork.
func (s *Snapshot) Revert() {
	last := s.forks[len(s.forks)-1]
	s.forks = s.forks[:len(s.forks)-1]
	if !last.nodesRemoved {
		for _, node := range s.nodes[len(last.nodes):] {
			delete(s.index, node.Node().Name)
		}
	}
	s.nodes, s.affinity = last.nodes, last.affinity
	if last.nodesRemoved {
		s.reindex()
	}
}

// Commit keeps what has changed since the last Fork.
func (s *Snapshot) Commit() {
	last := s.forks[len(s.forks)-1]
	s.forks = s.forks[:len(s.forks)-1]
	if len(s.forks) > 0 {
		outer := &s.forks[len(s.forks)-1]
		outer.nodesRemoved = outer.nodesRemoved || last.nodesRemoved
		for node := range last.editable {
			outer.editable[node] = true
		}
	}
}

// AddNode adds a node with pods at the end of the order.
func (s *Snapshot) AddNode(node *v1.Node, pods ...*v1.Pod) {
	s.index[node.Name] = len(s.nodes)
	s.nodes = append(s.nodes, s.newNode(node, pods))
}

// ReplaceNode puts the node, without pods, in the place of the node with the same name.
func (s *Snapshot) ReplaceNode(node *v1.Node) {
	s.nodes[s.index[node.Name]], s.affinity = s.newNode(node, nil), nil
}

// RemoveNode removes a node and its pods.
func (s *Snapshot) RemoveNode(name string) {
	at := s.index[name]
	s.nodes, s.affinity = slices.Delete(s.nodes, at, at+1), nil
	if len(s.forks) > 0 {
		s.forks[len(s.forks)-1].nodesRemoved = true
	}
	s.reindex()
}

// newNode returns a new node with pods.
func (s *Snapshot) newNode(node *v1.Node, pods []*v1.Pod) *framework.NodeInfo {
	info := framework.NewNodeInfo(pods...)
	info.SetNode(node)
	if len(s.forks) > 0 {
		s.forks[len(s.forks)-1].editable[info] = true
	}
	s.dropAffinity(info)
	return info
}

func (s *Snapshot) reindex() {
	clear(s.index)
	for i, node := range s.nodes {
		s.index[node.Node().Name] = i
	}
}

// Nodes returns the nodes in their order.
func (s *Snapshot) Nodes() []*v1.Node {
	nodes := make([]*v1.Node, len(s.nodes))
	for i, info := range s.nodes {
		nodes[i] = info.Node()
	}
	return nodes
}

// Node returns the node with that name, or nil.
func (s *Snapshot) Node(name string) *v1.Node {
	if at, found := s.index[name]; found {
		return s.nodes[at].Node()
	}
	return nil
}

// Pods returns the pods on the node.
func (s *Snapshot) Pods(node string) []*v1.Pod {
	infos := s.nodes[s.index[node]].GetPods()
	pods := make([]*v1.Pod, len(infos))
	for i, info := range infos {
		pods[i] = info.GetPod()
	}
	return pods
}

// RemovePod removes a pod from the node.
func (s *Snapshot) RemovePod(pod *v1.Pod, node string) error {
	info := s.editableNode(s.index[node])
	s.dropAffinity(info)
	return info.RemovePod(klog.FromContext(s.engine.ctx), pod)
}

// addPod puts a pod on a node without checking whether it fits.
func (s *Snapshot) addPod(pod *v1.Pod, at int) {
	info := s.editableNode(at)
	info.AddPod(pod)
	s.dropAffinity(info)
}

// dropAffinity drops the lists of nodes with affinity if the node has pods with affinity.
func (s *Snapshot) dropAffinity(info *framework.NodeInfo) {
	if len(info.PodsWithAffinity) > 0 {
		s.affinity = nil
	}
}

// editableNode returns the node for a change in place. It copies the node if the node is older than the last Fork.
func (s *Snapshot) editableNode(at int) *framework.NodeInfo {
	info := s.nodes[at].(*framework.NodeInfo)
	if len(s.forks) == 0 || s.forks[len(s.forks)-1].editable[info] {
		return info
	}
	info = info.SnapshotConcrete()
	s.nodes[at] = info
	s.forks[len(s.forks)-1].editable[info] = true
	return info
}

// Check reports whether the pod fits on the node. If not, it returns the reasons of the first plugin that rejects the pod.
func (s *Snapshot) Check(pod *v1.Pod, node string) (reasons []string, fits bool) {
	if s.engine.interrupted() != nil {
		return nil, false
	}
	if reasons, refused := s.refusedByNode(pod, node); refused {
		return reasons, false
	}
	state := framework.NewCycleState()
	result, status, _ := s.plugins.RunPreFilterPlugins(s.engine.ctx, state, pod)
	if !status.IsSuccess() {
		return status.Reasons(), false
	}
	if result.AllNodes() {
		s.asked[pod] = state
	} else if !result.NodeNames.Has(node) {
		return nil, false
	}
	if status = s.plugins.RunFilterPlugins(s.engine.ctx, state, pod, s.nodes[s.index[node]]); !status.IsSuccess() {
		return status.Reasons(), false
	}
	return nil, true
}

// refusedByNode returns the reasons of the first filter that rejects the pod, if it is one that reads nothing but the pod and the node. For these
// filters the state of an earlier PreFilter is enough; PreFilter itself walks over the pods of all nodes.
func (s *Snapshot) refusedByNode(pod *v1.Pod, node string) (reasons []string, refused bool) {
	state := s.asked[pod]
	if state == nil {
		return nil, false
	}
	status := s.plugins.RunFilterPlugins(s.engine.ctx, state, pod, s.nodes[s.index[node]])
	if status.IsSuccess() || !s.early.Has(status.Plugin()) {
		return nil, false
	}
	return status.Reasons(), true
}

// Place puts the pod on the node if it fits there. If not, it returns the reasons.
func (s *Snapshot) Place(pod *v1.Pod, node string) (reasons []string, placed bool) {
	reasons, placed = s.Check(pod, node)
	if placed {
		s.addPod(pod, s.index[node])
	}
	return reasons, placed
}

// Find puts the pod on the first node that is acceptable and that the pod fits, in the order of the nodes after Last. It returns the node's
// name, or "" if there is none.
func (s *Snapshot) Find(pod *v1.Pod, acceptable func(node string) bool) string {
	state := framework.NewCycleState()
	result, status, _ := s.plugins.RunPreFilterPlugins(s.engine.ctx, state, pod)
	if !status.IsSuccess() {
		return ""
	}
	for i := range s.nodes {
		if s.engine.interrupted() != nil {
			return ""
		}
		at := (s.Last + 1 + i) % len(s.nodes)
		info := s.nodes[at]
		name := info.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) || info.Node().Spec.Unschedulable || !acceptable(name) {
			continue
		}
		if s.plugins.RunFilterPlugins(s.engine.ctx, state, pod, info).IsSuccess() {
			s.Last = at
			s.addPod(pod, at)
			return name
		}
	}
	return ""
}

// The methods below are those by which the plugins read the snapshot.

var errNoNode = errors.New("nodeinfo not found") // the text of upstream's snapshot

// NodeInfos implements fwk.SharedLister.
func (s *Snapshot) NodeInfos() fwk.NodeInfoLister { return s }

// StorageInfos implements fwk.SharedLister.
func (s *Snapshot) StorageInfos() fwk.StorageInfoLister { return s }

// List implements fwk.NodeInfoLister.
func (s *Snapshot) List() ([]fwk.NodeInfo, error) { return s.nodes, nil }

// Get implements fwk.NodeInfoLister.
func (s *Snapshot) Get(name string) (fwk.NodeInfo, error) {
	if at, found := s.index[name]; found {
		return s.nodes[at], nil
	}
	return nil, fmt.Errorf("%w for node name %q", errNoNode, name)
}

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (s *Snapshot) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return s.affinityNodes().any, nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (s *Snapshot) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.affinityNodes().anti, nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements fwk.NodeInfoLister.
func (s *Snapshot) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.affinityNodes().wide, nil
}

// affinityNodes returns the nodes with affinity, and finds them if they have changed.
func (s *Snapshot) affinityNodes() *affinityNodes {
	if s.affinity == nil {
		s.affinity = &affinityNodes{}
		for _, info := range s.nodes {
			if len(info.GetPodsWithAffinity()) > 0 {
				s.affinity.any = append(s.affinity.any, info)
			}
			if len(info.GetPodsWithRequiredAntiAffinity()) > 0 {
				s.affinity.anti = append(s.affinity.anti, info)
			}
			if len(info.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 {
				s.affinity.wide = append(s.affinity.wide, info)
			}
		}
	}
	return s.affinity
}

// IsPVCUsedByPods reports whether a pod on a node uses the claim.
func (s *Snapshot) IsPVCUsedByPods(key string) bool {
	return slices.ContainsFunc(s.nodes, func(info fwk.NodeInfo) bool { return info.GetPVCRefCounts()[key] > 0 })
}
