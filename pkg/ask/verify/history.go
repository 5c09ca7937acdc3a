package verify

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Sources are the paths of files about what happened in a cluster before its dump was made.
type Sources struct {
	// Events are files of Events, Audit are audit logs, and Earlier are earlier dumps.
	Events, Audit, Earlier []string
}

// History has what the sources besides the dump say about a cluster's past.
type History struct {
	sourceNames []string
	facts       []fact
	files       []fileFacts
	earlier     *cluster.State // from earlier dumps, or nil
}

type fileFacts struct {
	name  string
	facts []fact
}

// ErrForeign means that a file is from another cluster than the dump.
var ErrForeign = errors.New("not about any pod or node of the dump; give a record of the same cluster")

// ReadHistory reads the files. Its error has one line for each file that could not be read.
func ReadHistory(sources Sources) (*History, error) {
	h := &History{}
	var errs []error
	read := func(with string, files []string, facts func(file string) ([]fact, error)) {
		for _, file := range files {
			found, err := facts(file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			h.files = append(h.files, fileFacts{file, found})
			h.facts = append(h.facts, found...)
			if !slices.Contains(h.sourceNames, with) {
				h.sourceNames = append(h.sourceNames, with)
			}
		}
	}
	read("events", sources.Events, func(file string) ([]fact, error) {
		data, err := manifest.ReadFile(nil, nil, file)
		if err != nil {
			return nil, err
		}
		return decodeEvents(file, data)
	})
	read("audit log", sources.Audit, func(file string) ([]fact, error) {
		f, err := os.Open(file)
		if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
			return nil, fmt.Errorf("%s: %w; give the audit log of the API server", file, pathErr.Err)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return decodeAudit(file, f)
	})
	read("earlier dump", sources.Earlier, h.readEarlier)
	return h, errors.Join(errs...)
}

// readEarlier reads an earlier dump. Its facts are the placements of its pods; its controllers provide templates of pods.
func (h *History) readEarlier(file string) ([]fact, error) {
	set, err := manifest.Read(nil, file)
	if err != nil {
		return nil, err
	}
	objs := make([]cluster.Object, len(set.Objects))
	for i, obj := range set.Objects {
		objs[i] = obj.Object
	}
	before := h.earlier
	if before == nil {
		before = &cluster.State{Now: unknownTime}
	}
	state, _, err := admission.Admit(before, objs...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	h.earlier = state
	made := cluster.Latest(objs).Time
	var facts []fact
	pods := map[types.NamespacedName]*v1.Pod{}
	for _, pod := range state.Pods {
		pods[cluster.NameOf(pod)] = pod
	}
	for _, obj := range objs {
		given, ok := obj.(*v1.Pod)
		if !ok || given.Spec.NodeName == "" || cluster.IsTerminal(given) {
			continue
		}
		pod := pods[cluster.NameOf(given)]
		facts = append(facts, fact{kind: podScheduled, at: scheduledAt(pod), pod: cluster.NameOf(pod), uid: pod.UID, node: pod.Spec.NodeName, object: pod, existedAt: made})
	}
	return facts, nil
}

func (h *History) sources() []string {
	if h == nil {
		return nil
	}
	return h.sourceNames
}

// checkCluster returns an error for each file that is from another cluster than the state.
func (h *History) checkCluster(state *cluster.State) error {
	known := map[string]bool{}
	for _, node := range state.Nodes {
		known["node/"+node.Name] = true
	}
	for _, pod := range state.Pods {
		known["pod/"+string(pod.UID)], known["pod/"+cluster.NameOf(pod).String()] = true, true
	}
	var errs []error
	for _, file := range h.files {
		if !slices.ContainsFunc(file.facts, func(f fact) bool {
			return known["node/"+f.node] || known["pod/"+string(f.uid)] || known["pod/"+f.pod.String()]
		}) {
			errs = append(errs, fmt.Errorf("%s: %w", file.name, ErrForeign))
		}
	}
	return errors.Join(errs...)
}

// covers reports whether the history begins before the oldest of the dump's pods, so that no pod can have come and gone unrecorded since.
func (h *History) covers(lives []*podLife) bool {
	var first time.Time
	for _, f := range h.facts {
		if f.kind == podScheduled && f.existedAt.IsZero() && (first.IsZero() || f.at.Before(first)) {
			first = f.at
		}
	}
	return !first.IsZero() && !slices.ContainsFunc(lives, func(l *podLife) bool { return l.inDump && l.hi.Before(first) })
}
