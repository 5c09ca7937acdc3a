package dumptest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

var size = flag.Int("nodes", 120, "the number of nodes of each shape in BenchmarkShapes")

// BenchmarkShapes asks each question of each shape of cluster. The metric x-run is the question's time as a multiple of the time of
// simulate run on the same dump.
func BenchmarkShapes(b *testing.B) {
	for _, shape := range dumptest.Shapes() {
		b.Run(shape.Name, func(b *testing.B) {
			shape.Options.Nodes = *size
			dump := filepath.Join(b.TempDir(), "dump.json")
			if err := os.WriteFile(dump, dumptest.Dump(shape.Options), 0o600); err != nil {
				b.Fatal(err)
			}
			run := time.Duration(0)
			for i := range 3 {
				began := time.Now()
				askShape(b, dump, "run")
				if took := time.Since(began); i == 0 || took < run {
					run = took
				}
			}
			workload := shape.Workload + " -n " + shape.Namespace
			for _, question := range []string{
				"verify", "drain node/" + shape.Node + " --force --delete-emptydir-data", "consolidate", "rebalance", "roll --pool pool=general", "blast", "lint", "advise " + workload,
				"capacity " + workload, "capacity " + workload + " --survive zone", "size", "size --survive zone", "capacity", "capacity --survive zone",
			} {
				b.Run(question, func(b *testing.B) {
					for b.Loop() {
						askShape(b, dump, question)
					}
					b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(run), "x-run")
				})
			}
		})
	}
}

// askShape asks a question of a dump. Errors that lint finds are an answer, too.
func askShape(b *testing.B, dump, question string) {
	var errors bytes.Buffer
	if code := app.Main(append(strings.Fields(question), dump), strings.NewReader(""), &bytes.Buffer{}, &errors); code != 0 && code != 3 {
		b.Fatalf("exit status %d\n%s", code, errors.String())
	}
}
