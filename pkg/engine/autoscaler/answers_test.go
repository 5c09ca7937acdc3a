package autoscaler_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// recorded has the decisions of the autoscaler itself and, where chance decides, all decisions that were seen.
type recorded struct {
	answer
	Variants         []*loop             `json:"variants"`
	Plans            map[string][]resize `json:"plans"`  // after each pick that the expanders leave
	Orders           [][]resize          `json:"orders"` // with other orders of nodes and pods
	UpcomingVariants [][][]resize        `json:"upcomingVariants"`
	ReadyVariants    [][][]resize        `json:"readyVariants"`
	Outcomes         []struct{ Unneeded, Deleted []string }
	States           map[string][]string // of nodes
	Counts           []int               // of deleted nodes
}

// TestAnswers compares the decisions about recorded worlds with the autoscaler's own decisions. Any decision that chance allows is right.
// The worlds are those in testdata, and those in the folder that AUTOSCALER_WORLDS names. The test writes the decisions to the file that
// AUTOSCALER_ANSWERS names.
func TestAnswers(t *testing.T) {
	folders := []string{filepath.Join("testdata", "worlds")}
	if more := os.Getenv("AUTOSCALER_WORLDS"); more != "" {
		folders = append(folders, more)
	}
	var out *json.Encoder
	if path := os.Getenv("AUTOSCALER_ANSWERS"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		out = json.NewEncoder(file)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*-worlds.jsonl.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no *-worlds.jsonl.gz: %v", folder, err)
		}
		for _, file := range files {
			worlds := readLines[world](t, file)
			answers := map[string]*recorded{}
			for _, a := range readLines[recorded](t, strings.TrimSuffix(file, "-worlds.jsonl.gz")+"-answers.jsonl.gz") {
				answers[a.Name] = a
			}
			agree := 0
			for _, w := range worlds {
				mine := solve(t, w)
				if out != nil {
					if err := out.Encode(mine); err != nil {
						t.Fatal(err)
					}
				}
				differences := answers[w.Name].compare(mine)
				if differences == nil {
					agree++
				}
				for _, difference := range differences {
					t.Errorf("%s: %s: %s", filepath.Base(file), w.Name, difference)
				}
			}
			t.Logf("%s: %d of %d agree", filepath.Base(file), agree, len(worlds))
		}
	}
}

func readLines[T any](t *testing.T, path string) []*T {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var all []*T
	for decoder := json.NewDecoder(unzipped); decoder.More(); {
		var one T
		if err := decoder.Decode(&one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, &one)
	}
	return all
}

// compare returns how an answer differs from all recorded ones.
func (r *recorded) compare(mine *answer) []string {
	switch r.Kind {
	case "scale-up":
		return r.compareScaleUp(mine.Loops[0])
	case "loops":
		return append(compareCourse("upcoming", r.Upcoming, r.UpcomingVariants, mine.Upcoming), compareCourse("ready", r.Ready, r.ReadyVariants, mine.Ready)...)
	default:
		return r.compareScaleDown(mine.Loops)
	}
}

func differ(what string, theirs, mine any) string {
	return fmt.Sprintf("%s: the autoscaler: %v, here: %v", what, theirs, mine)
}

func (r *recorded) compareScaleUp(mine *loop) (differences []string) {
	theirs := r.Loops[0]
	variants := r.Variants
	if variants == nil {
		variants = []*loop{theirs}
		for _, field := range [][3]string{{"scaleUp", theirs.ScaleUp, mine.ScaleUp}} {
			if field[1] != field[2] {
				differences = append(differences, differ(field[0], field[1], field[2]))
			}
		}
		// The text is certain only if chance decides nothing.
		if len(r.Orders) == 0 && len(theirs.Chain) < 2 && len(theirs.Fit) == 0 {
			if diff := gocmp.Diff(theirs.Events, mine.Events, cmpopts.EquateEmpty(), gocmp.Transformer("number", func(e event) string {
				return fmt.Sprint(e.Reason, ": ", e.Message, ": ", len(e.Objects))
			})); diff != "" {
				differences = append(differences, "events (-autoscaler +here): "+diff)
			}
		}
	}
	var options, chains, plans []string
	for _, v := range variants {
		options, chains, plans = append(options, optionsOf(v)), append(chains, chainOf(v)), append(plans, planOf(v.Plan))
	}
	for _, plan := range r.Plans {
		plans = append(plans, planOf(plan))
	}
	for _, plan := range r.Orders {
		plans = append(plans, planOf(plan))
	}
	for _, of := range []struct {
		what   string
		theirs []string
		mine   string
	}{{"options", options, optionsOf(mine)}, {"chain", chains, chainOf(mine)}, {"plan", plans, planOf(mine.Plan)}} {
		if !slices.Contains(of.theirs, of.mine) {
			differences = append(differences, differ(of.what, of.theirs, of.mine))
		}
	}
	if optionsOf(theirs) == optionsOf(mine) { // other pods fit by chance, and so others are refused
		if diff := gocmp.Diff(theirs.Refused, mine.Refused, cmpopts.EquateEmpty(), cmpopts.SortSlices(cmp.Less[string])); diff != "" {
			differences = append(differences, "refused (-autoscaler +here): "+diff)
		}
	}
	return differences
}

func optionsOf(l *loop) string {
	var all []string
	for _, o := range l.Options {
		all = append(all, fmt.Sprint(o.Group, o.Nodes, len(o.Pods)))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

func chainOf(l *loop) string { return fmt.Sprint(slices.Sorted(slices.Values(l.Chain))) }

func planOf(plan []resize) string {
	return fmt.Sprint(slices.SortedFunc(slices.Values(plan), func(a, b resize) int { return cmp.Compare(a.Group, b.Group) }))
}

// compareCourse compares the plans of a series of loops or, if they differ, the states after the last loop.
func compareCourse(what string, theirs []*loop, variants [][][]resize, mine []*loop) []string {
	course := func(loops []*loop) (plans [][]resize) {
		for _, l := range loops {
			if l.Plan != nil {
				plans = append(plans, l.Plan)
			}
		}
		return plans
	}
	text := func(plans [][]resize) string {
		var all []string
		for _, plan := range plans {
			all = append(all, planOf(plan))
		}
		return strings.Join(all, " ")
	}
	if variants == nil {
		variants = [][][]resize{course(theirs)}
	}
	var seen []string
	for _, v := range variants {
		seen = append(seen, text(v))
	}
	if got := text(course(mine)); !slices.Contains(seen, got) && !gocmp.Equal(theirs[len(theirs)-1].Sizes, mine[len(mine)-1].Sizes) {
		return []string{differ(what, seen, got)}
	}
	return nil
}

func (r *recorded) compareScaleDown(mine []*loop) (differences []string) {
	last := mine[len(mine)-1]
	deleted := []string{}
	for _, d := range last.Deleted {
		deleted = append(deleted, d.Node)
	}
	exact := false
	for _, o := range r.Outcomes {
		exact = exact || gocmp.Equal(o.Unneeded, last.Unneeded, cmpopts.EquateEmpty()) && gocmp.Equal(o.Deleted, deleted, cmpopts.EquateEmpty())
	}
	if !exact {
		if !slices.Contains(r.Counts, len(deleted)) || len(r.Outcomes) < 4 {
			differences = append(differences, differ("unneeded and deleted", r.Outcomes, fmt.Sprint(last.Unneeded, deleted)))
		}
		for _, node := range deleted {
			if !slices.Contains(r.States[node], "deleted") {
				differences = append(differences, differ(node, r.States[node], "deleted"))
			}
		}
	}
	for _, node := range keysOf(last.Unremovable) {
		why := last.Unremovable[node]
		state := why.Reason
		if why.PodReason != "" {
			state += ": " + why.PodReason
		}
		if !slices.Contains(r.States[node], state) {
			differences = append(differences, differ(node, r.States[node], state))
		}
	}
	theirs := r.Loops[0]
	if len(theirs.Fit) > 0 {
		return differences // chance decides onto which nodes the pods fit
	}
	for _, node := range keysOf(mine[0].Utilization) {
		used, here := theirs.Utilization[node], mine[0].Utilization[node]
		if math.Abs(used.CPU-here.CPU) > 2e-6 || math.Abs(used.Memory-here.Memory) > 2e-6 {
			differences = append(differences, differ("utilization of "+node, used, here))
		}
	}
	if len(r.Outcomes) == 1 && theirs.ScaleDown != mine[0].ScaleDown {
		differences = append(differences, differ("scale-down", theirs.ScaleDown, mine[0].ScaleDown))
	}
	return differences
}
