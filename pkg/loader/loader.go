package loader

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/price"
	"github.com/faultline/faultline/pkg/scenario"
)

// loader reads a scenario file, or one of its variants, and everything that it names.
type loader struct {
	*input
	collected
	problems *scenario.Problems // of the file, or of the variant
	data     []byte             // the content of the scenario's file; nil if there is no file
	lines    *manifest.Lines    // of data; see [loader.fileLines]
}

// input is what loaders read from, and how. A scenario and its variants share it; it stays the same once the scenario's fields are read, but
// for the counts.
type input struct {
	ctx        context.Context         // whose end ends the loading
	stop       context.CancelCauseFunc // ends the loading, for example at a limit
	opts       Options
	fsys       fs.FS
	dir        string // to which paths are relative
	stdin      io.Reader
	namedFiles map[string]bool // the files, folders and globs that the scenario and its variants name, spelled as there
	nodes      int             // the number of nodes so far; see [scenario.Limits]
	devices    int             // the number of devices so far

	federation   *scenario.Federation // nil for a single cluster
	prices       *price.Table         // nil without a file of prices
	pricesFile   string               // the path of the file of prices
	storageMode  string               // the mode of the file or of a flag, such as none
	ownersGone   bool                 // pods with unknown controllers are not replaced
	runsHooks    bool                 // hooks are objects like the others
	gateGiven    bool                 // the scenario or a flag sets the feature gate for pod groups
	releaseGiven bool                 // the scenario or a flag sets the release
	hasDeciders  bool                 // custom resources may be those of a decider
}

// collected is what one loader has found so far.
type collected struct {
	inputContent     *scenarioContent // everything that was read, to look up custom resources
	sources          map[string]map[cluster.Ref]manifest.Source
	step             string // the step whose objects are being read
	incomplete       bool   // some objects could not be read
	ignored          []manifest.Ignored
	flaws            []manifest.Flaw
	resourcesInDump  map[types.UID][]cluster.Object // what operators make of the resources that control pods of a dump
	ignoredPodGroups []string                       // pod groups whose pods are placed one by one
	dumpPodGroups    []string                       // of these, the groups that objects of a dump name
	askedPodGroups   []string                       // the groups of another scheduler whose pods are placed all or none
	nodesRead        []*v1.Node                     // the nodes that were read
	releaseToReread  string                         // the cluster's release, if the input has to be read again as that release
	notes            []string                       // for the report
	levelKeys        []string
	deviceClasses    []*resourcev1.DeviceClass // of synthetic devices
	foundConfig      *manifest.Raw             // the scheduler configuration among the objects; a snapshot has one
	hooks            []hook                    // the hooks that were left out
	kept             []keptResource            // the custom resources that deciders may read
	members          map[string]string         // the path of each cluster of a federation in the file, by name
	kindMembers      map[string]bool           // by name of a member: it is a kind cluster
	syntheticMembers map[string]bool           // by name of a member: all its nodes are synthetic
}

func newLoader(file string, opts Options) *loader {
	ctx, stop := context.WithCancelCause(context.Background())
	l := &loader{
		input: &input{ctx: ctx, stop: stop, fsys: opts.FS, opts: opts, namedFiles: map[string]bool{}},
		collected: collected{
			notes: slices.Clone(opts.Notes), inputContent: &scenarioContent{}, resourcesInDump: map[types.UID][]cluster.Object{}, members: map[string]string{}, kindMembers: map[string]bool{}, syntheticMembers: map[string]bool{},
		},
		problems: &scenario.Problems{File: file, Flags: map[string]string{}},
	}
	if server := l.findReleaseToReread(); server != "" { // known before anything is read
		l.opts.dumpRelease = server
	}
	return l
}

// variantLoader returns a loader for a variant of the scenario that this loader has read. The scenario stays as it was read.
func (l *loader) variantLoader(problems *scenario.Problems) *loader {
	return &loader{
		input:     l.input,
		collected: collected{inputContent: l.inputContent, resourcesInDump: map[types.UID][]cluster.Object{}, kindMembers: l.kindMembers, syntheticMembers: l.syntheticMembers},
		problems:  problems,
	}
}

// ended reports whether the loading has ended: its context ended, or the scenario exceeds a limit.
func (in *input) ended() bool { return in.ctx.Err() != nil }

// countWithinLimits adds to the counts of nodes and devices, and compares them and the number of pods with the limits. A count above its limit ends
// the loading.
func (in *input) countWithinLimits(nodes, devices, pods int) bool {
	in.nodes, in.devices = in.nodes+nodes, in.devices+devices
	for _, err := range []error{
		scenario.CheckLimit("nodes", in.nodes, in.opts.Limits.Nodes), scenario.CheckLimit("devices", in.devices, in.opts.Limits.Devices),
		scenario.CheckLimit("pods", pods, in.opts.Limits.Pods),
	} {
		if err != nil {
			in.stop(err)
		}
	}
	return !in.ended()
}

// expectationPlaces returns the lines of an expectation in the scenario's file.
func (l *loader) expectationPlaces(expect *scenario.Expect, path ...any) scenario.ExpectLines {
	if l.data == nil || expect == nil {
		return scenario.ExpectLines{}
	}
	return scenario.ExpectLines{File: l.problems.File, Lines: l.fileLines().LinesBelow(path...)}
}

// fileLines returns the lines of the scenario's file.
func (l *loader) fileLines() *manifest.Lines {
	if l.lines == nil {
		l.lines = manifest.NewLines(l.data)
	}
	return l.lines
}

// recordSource keeps the place of an object in its file if the object is a pod, a workload, a disruption budget, an autoscaler, a Service, a device claim or a policy.
// Objects with a controller are left out: a dump has thousands of these.
func (l *loader) recordSource(obj cluster.Object, source manifest.Source) {
	spec, _ := cluster.PodSpec(obj)
	kind := cluster.KindOf(obj)
	named := spec != nil || slices.Contains([]string{"HorizontalPodAutoscaler", "PodDisruptionBudget", "ResourceClaim", "ResourceClaimTemplate", "Service"}, kind) || strings.HasSuffix(kind, "AdmissionPolicy")
	if !named || metav1.GetControllerOfNoCopy(obj) != nil {
		return
	}
	if l.sources == nil {
		l.sources = map[string]map[cluster.Ref]manifest.Source{}
	}
	if l.sources[l.step] == nil {
		l.sources[l.step] = map[cluster.Ref]manifest.Source{}
	}
	l.sources[l.step][cluster.RefTo(obj)] = source
}
