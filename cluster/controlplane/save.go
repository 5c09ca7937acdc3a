package controlplane

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
)

// Saved is a cluster as it is at one moment: what its API server stores, and what its world knows beyond that.
type Saved struct {
	metav1.TypeMeta `json:",inline"`
	// State is the world's state without its objects, which are Objects, in their order of arrival.
	State   cluster.State `json:"state"`
	Objects []savedObject `json:"objects"`
	// Mutations are the state's, of which JSON cannot have the keys.
	Mutations []savedMutation `json:"mutations,omitempty"`
	// Jumps relate the cluster's time to the clock's.
	Jumps []jump `json:"jumps"`
	// Absent are the owners that the input lacked. Addresses are those of nodes and pods; Nodes, Pods and Events count what has been named.
	Absent              []types.UID          `json:"absent,omitempty"`
	Addresses           map[types.UID]string `json:"addresses"`
	Nodes, Pods, Events int
	// Store is what the API server stores.
	Store memory.Snapshot `json:"store"`
}

// savedVersion is the version of the format.
var savedVersion = metav1.TypeMeta{APIVersion: "faultline.dev/v1", Kind: "SavedCluster"}

type savedObject struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
}

type savedMutation struct {
	Owner     *cluster.Ref      `json:"owner,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Change    *cluster.Mutation `json:"change"`
}

// Save writes the cluster as it is.
func (p *Plane) Save(to io.Writer) error {
	saved, err := p.save()
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(to)
	if err := json.NewEncoder(packed).Encode(saved); err != nil { //nolint:staticcheck // the state has no Mutations any more
		return err
	}
	return packed.Close()
}

func (p *Plane) save() (*Saved, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.state
	saved := &Saved{
		TypeMeta: savedVersion, State: *state, Addresses: p.kubelet.addresses, Nodes: p.kubelet.nodes, Pods: p.kubelet.pods, Events: p.events.count,
		Jumps: p.time.history(), Absent: slices.Sorted(maps.Keys(p.absent)),
	}
	for _, obj := range state.Objects() {
		if _, unknown := obj.(*cluster.UnknownOwner); unknown {
			continue // the state keeps them
		}
		data, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		saved.Objects = append(saved.Objects, savedObject{cluster.KindOf(obj), data})
	}
	dropObjects(&saved.State)
	if m := state.Mutations; m != nil {
		for _, owner := range slices.SortedFunc(maps.Keys(m.Workloads), cluster.Ref.Compare) {
			saved.Mutations = append(saved.Mutations, savedMutation{Owner: &owner, Change: m.Workloads[owner]})
		}
		for _, namespace := range slices.Sorted(maps.Keys(m.Namespaces)) {
			saved.Mutations = append(saved.Mutations, savedMutation{Namespace: namespace, Change: m.Namespaces[namespace]})
		}
	}
	return saved, p.store.Update(func(w *memory.Writer) error {
		saved.Store = w.Snapshot()
		return nil
	})
}

// dropObjects empties what Saved has elsewhere, and what a world finds out again.
func dropObjects(state *cluster.State) {
	object := reflect.TypeFor[cluster.Object]()
	for field, value := range reflect.ValueOf(state).Elem().Fields() {
		if field.IsExported() && field.Name != "UnknownOwners" && field.Type.Kind() == reflect.Slice && field.Type.Elem().Implements(object) {
			value.SetZero()
		}
	}
	state.Mutations, state.Refused, state.Federation = nil, nil, nil
}

// ReadSaved reads what Save has written.
func ReadSaved(from io.Reader) (*Saved, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("this is no saved cluster: %w; give a file that simulate save has written", err)
	}
	saved := &Saved{}
	if err := json.NewDecoder(packed).Decode(saved); err != nil {
		return nil, fmt.Errorf("this is no saved cluster: %w; give a file that simulate save has written", err)
	}
	if saved.TypeMeta != savedVersion {
		return nil, fmt.Errorf("this is a %s of %s, not a saved cluster; give a file that simulate save has written", saved.Kind, saved.APIVersion)
	}
	return saved, nil
}

// state returns the world's state.
func (s *Saved) state() (*cluster.State, error) {
	types := map[string]reflect.Type{}
	for _, example := range append(examples, &v1.ServiceAccount{}) {
		types[cluster.KindOf(example)] = reflect.TypeOf(example).Elem()
	}
	state := s.State
	var objects []cluster.Object
	for _, one := range s.Objects {
		of, known := types[one.Kind]
		if !known {
			return nil, errors.New("the saved cluster has a " + one.Kind + ", of which this program does not know")
		}
		obj := reflect.New(of).Interface().(cluster.Object)
		if err := json.Unmarshal(one.Object, obj); err != nil {
			return nil, err
		}
		mapTimes(reflect.ValueOf(obj), inUTC)
		objects = append(objects, obj)
	}
	if len(s.Mutations) > 0 {
		m := &cluster.Mutations{Workloads: map[cluster.Ref]*cluster.Mutation{}, Namespaces: map[string]*cluster.Mutation{}}
		for _, one := range s.Mutations {
			if one.Owner != nil {
				m.Workloads[*one.Owner] = one.Change
			} else {
				m.Namespaces[one.Namespace] = one.Change
			}
		}
		state.Mutations = m
	}
	return state.With(objects...), nil
}

// resume continues a saved cluster.
func (p *Plane) resume(to *memory.Writer, saved *Saved, containers cluster.Containers) error {
	saved.State.Containers = &containers
	state, err := saved.state()
	if err != nil {
		return err
	}
	p.state, p.seen, p.absent = state, saved.Store.Revision, map[types.UID]bool{}
	p.kubelet.addresses, p.kubelet.nodes, p.kubelet.pods, p.events.count = saved.Addresses, saved.Nodes, saved.Pods, saved.Events
	for _, uid := range saved.Absent {
		p.absent[uid] = true
	}
	for _, obj := range state.Objects() {
		p.ages.note(obj)
	}
	for _, kind := range p.kinds {
		for _, kv := range to.List(kind.prefix) {
			if kv.ModRevision > p.seen {
				continue // the server has written it when it started
			}
			obj, err := kind.decode(kv.Value)
			if err != nil {
				return err
			}
			p.known[string(kv.Key)] = &object{obj, kv.ModRevision}
			pod, is := obj.(*v1.Pod)
			if !is {
				continue
			}
			p.noteLoop(pod)
			if pod.Spec.NodeName == "" {
				if _, waits := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); waits != nil && waits.Status == v1.ConditionFalse {
					p.messages[pod.UID] = waits.Message
				}
			}
		}
	}
	return nil
}
