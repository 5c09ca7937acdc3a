package makeroom

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Formats are the formats of the report. Quiet prints only the answer, name the pods to move, and All lists every pod.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Names: podNames}.Formats()

// question returns the title of the page.
func (r *Report) question() string { return "Room for " + r.asked() }

func podNames(r *Report) []string {
	return list.Map(movesOf(r.Stages), func(m makeroom.Move) string { return cluster.Qualify(m.Namespace, "pod/"+m.Name) })
}

// asked names the workloads that ask for room.
func (r *Report) asked() string {
	return words.Few(list.Map(r.Workloads, cluster.WorkloadRef.Qualified))
}

func movesOf(stages []makeroom.Stage) []makeroom.Move {
	var all []makeroom.Move
	for i := range stages {
		all = append(all, stages[i].Moves...)
	}
	return all
}

// document is the verdict, the moves with their commands, or what is in the way.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	if len(r.Placed) > 0 {
		d.Linef(doc.Plain, "Then %s.", describePlaced(&d, r.Placed))
	}
	writeMoves(&d, r.Stages)
	if len(r.Commands) > 0 {
		d.Section("As commands; go on only if one succeeds")
		for _, command := range r.Commands {
			d.Verbatim(command)
		}
	}
	if !r.Made {
		writeObstacles(&d, r)
	}
	if with := r.Without; with != nil {
		d.Section("What would do " + price(with))
		writeMoves(&d, with.Stages)
	}
	d.Header()
	return &d
}

// verdict returns the first line.
func (r *Report) verdict() doc.Cell {
	switch {
	case r.NotCreated > 0:
		return doc.Red.Cellf("No: the API server refuses %s of %s, which no move changes: %s.", words.Count(r.NotCreated, "pod"), r.asked(), r.Refusal)
	case r.Waiting == 0:
		return doc.Green.Cellf("Yes: no move is needed, as %s of %s.", words.Pick(r.Pods, "a node has the pod", fmt.Sprintf("nodes have all %d pods", r.Pods)), r.asked())
	case r.Made:
		least := ""
		if !r.Fewest {
			least = fmt.Sprintf("; at least %s needed", words.Is(r.AtLeast, "move"))
		}
		return doc.Green.Cellf("Yes: %s, nobody below its budget%s.", describeMoves(r.Stages), least)
	case r.Without != nil:
		return doc.Red.Cellf("No: %s; %s would do %s.", r.whyNot(), words.Count(makeroom.Count(r.Without.Stages), "move"), price(r.Without))
	case r.Partial != "":
		return doc.Yellow.Cellf("Not known yet: %s makes room for %s.", words.Pick(r.Tried, "the sequence of moves that was tried does not", fmt.Sprintf("none of the %d sequences of moves that were tried", r.Tried)), r.asked())
	}
	return doc.Red.Cellf("No: %s.", r.whyNot())
}

// whyNot says why there are no moves.
func (r *Report) whyNot() string {
	if r.Impossible {
		if len(r.Obstacles) == 0 {
			return "no node may take " + words.Pick(r.Waiting, "the pod of ", "the pods of ") + r.asked()
		}
		if r.Waiting > 1 {
			return fmt.Sprintf("the nodes have no room for the %d pods of %s together, even without all pods that may move", r.Waiting, r.asked())
		}
		if short := r.Obstacles[0].Short; short != nil {
			return fmt.Sprintf("%s %s are free nowhere together, even without all pods that may move", short.Asked, resourceName(short.Resource))
		}
		return "no node has room for the pod, even without all pods that may move"
	}
	if r.AtLeast > 1 {
		return fmt.Sprintf("no %s room, and none of the larger numbers that were tried", words.Pick(r.AtLeast-1, "move makes", fmt.Sprintf("%d or fewer moves make", r.AtLeast-1)))
	}
	return fmt.Sprintf("none of the %d sequences of moves that were tried makes room", r.Tried)
}

func resourceName(resource string) string {
	if resource == "cpu" {
		return "CPU"
	}
	return resource
}

// describeMoves says how many moves there are, where, and of whom: "3 moves on gpu-7 (of batch/etl and shop/cache)".
func describeMoves(stages []makeroom.Stage) string {
	var nodes, owners []string
	moves := movesOf(stages)
	for _, m := range moves {
		nodes = append(nodes, m.From)
		owners = append(owners, cluster.Qualify(m.Namespace, m.Workload))
	}
	for _, names := range []*[]string{&nodes, &owners} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return fmt.Sprintf("%s on %s (of %s)", words.Count(len(moves), "move"), words.Few(nodes), words.Few(owners))
}

// price says what the moves of an alternative cost.
func price(a *makeroom.Alternative) string {
	line := ""
	if len(a.Budgets) > 0 {
		line = "without the " + words.Pick(len(a.Budgets), "budget", "budgets") + " of " + words.Few(a.Budgets)
	}
	if len(a.Data) > 0 {
		if line != "" {
			line += " and "
		}
		line += "with --delete-emptydir-data, which loses data of " + words.Few(a.Data)
	}
	return line
}

// describePlaced says which nodes the pods that waited get.
func describePlaced(d *doc.Doc, placed []makeroom.Placed) string {
	on := list.GroupBy(placed, func(p makeroom.Placed) string { return p.Node })
	parts := list.Map(on, func(pods []makeroom.Placed) string {
		return fmt.Sprintf("%s gets %s", pods[0].Node, d.NameFew(list.Map(pods, func(p makeroom.Placed) string { return cluster.Qualify(p.Namespace, "pod/"+p.Name) }), len(pods)))
	})
	return words.Few(parts)
}

// writeMoves lists the moves.
func writeMoves(d *doc.Doc, stages []makeroom.Stage) {
	if len(stages) == 0 {
		return
	}
	d.Space()
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("MOVE", "POD", "FROM", "TO", "AS", "PRIORITY", "AGE", "REPLICAS", "LOSES"), "REPLICAS", "AGE", "PRIORITY", "AS")}
	loses := false
	for i, m := range movesOf(stages) {
		data := doc.None
		if m.LosesData {
			data, loses = "local data", true
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(strconv.Itoa(i + 1)), doc.Plain.Cell(cluster.Qualify(m.Namespace, m.Name)), doc.Plain.Cell(m.From), doc.Plain.Cell(m.To), doc.Plain.Cell(m.Next),
			doc.Plain.Cellf("%d", m.Priority), doc.Plain.Cell(words.FormatDuration(time.Duration(m.Age) * time.Second)), doc.Plain.Cellf("%d", m.Replicas), doc.Plain.Cell(data)})
	}
	if !loses {
		rows = list.Map(rows, func(row []doc.Cell) []doc.Cell { return row[:len(row)-1] })
	}
	d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "move", Nouns: "moves"})
}

// writeObstacles lists what is in the way.
func writeObstacles(d *doc.Doc, r *Report) {
	if r.Message != "" {
		d.Linef(doc.Plain, "Without moves: %s", r.Message)
	}
	if len(r.Taken) > 0 {
		d.Linef(doc.Yellow, "Other pods wait, too, and get room that moves free: %s.", d.NameFew(list.Map(r.Taken, func(p makeroom.Placed) string { return cluster.Qualify(p.Namespace, "pod/"+p.Name) }), len(r.Taken)))
	}
	if len(r.Obstacles) == 0 {
		return
	}
	d.Section("What is in the way, on the nodes with the most room")
	for i := range r.Obstacles {
		o := &r.Obstacles[i]
		line := o.Node
		if s := o.Short; s != nil {
			line += fmt.Sprintf(": %s %s asked, %s free, %s of pods that may move", s.Asked, resourceName(s.Resource), s.Free, s.Movable)
		}
		d.Linef(doc.Bold, "%s", line)
		d.UpTo(len(o.Stays), "pod that cannot move", "pods that cannot move", func(i int) { writeStay(d, &o.Stays[i]) })
	}
}

func writeStay(d *doc.Doc, b *world.BlockedPod) {
	d.Linef(doc.Plain, "  %s: %s", cluster.Qualify(b.Namespace, b.Name), b.Reason)
}
