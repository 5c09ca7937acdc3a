package job_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/faultline/faultline/pkg/ask/job"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/golden"
)

var files = []job.File{
	{Path: "my sweep/scenario.yaml", Data: []byte("cluster: []\nsweep: $(n) $$\n")},
	{Path: "my sweep/apps/web.yaml", Data: []byte("\ufeff# windows\r\na: '\u2028 \\ \" '\n\n \ttab\n")},
	{Path: "my sweep/apps/web (2).yaml", Data: []byte("no newline at the end ")},
	{Path: "my sweep/empty.yaml"},
}

var sweeps = map[string]*job.Sweep{
	"log": {Name: "sweep-log", Image: "faultline:1.0", Version: "1.0", Shards: 1, Parallelism: 1, Files: files},
	"claim": {Name: "sweep-claim", Namespace: "test", Image: "registry.example.com/faultline@sha256:" + strings.Repeat("0", 64), Version: "1.0",
		Shards: 64, Parallelism: 16, Files: files, Options: []string{"--level=zone", "--step=a $(HOME) $$ b"}, ResultsClaim: "results"},
	"both-claims": {Name: job.Name(strings.Repeat("long ", 100), 100_000), Image: "faultline:1.0", Version: "1.0", Shards: 100_000, Parallelism: 100_000,
		Files: files[:1], ScenarioClaim: "scenarios", ResultsClaim: "results"},
}

// The API server must accept the manifest unchanged, and the files in it must be unchanged.
func TestWrite(t *testing.T) {
	for name, sweep := range sweeps {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := job.Write(&out, sweep); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".yaml", out.String())
			set, err := manifest.Decode("job.yaml", out.Bytes()) // with the API server's own validation
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Objects) != 1 {
				t.Fatalf("%d objects, want the Job", len(set.Objects))
			}
			written := set.Objects[0].Object.(*batchv1.Job)
			volumes := written.Spec.Template.Spec.Volumes
			if sweep.ScenarioClaim != "" {
				if len(set.Ignored) != 0 || volumes[0].PersistentVolumeClaim.ClaimName != sweep.ScenarioClaim {
					t.Errorf("got %v and %d further objects, want the claim alone", volumes[0], len(set.Ignored))
				}
				return
			}
			if len(set.Ignored) != 1 {
				t.Fatalf("%d further objects, want the ConfigMap", len(set.Ignored))
			}
			config := configMap(t, strings.Split(out.String(), "---\n")[1])
			got := map[string]string{}
			for _, item := range volumes[0].ConfigMap.Items {
				got[item.Path] = config.Data[item.Key]
			}
			want := map[string]string{}
			for _, file := range sweep.Files {
				want["files/"+file.Path] = string(file.Data)
			}
			if diff := cmp.Diff(want, got); diff != "" || volumes[0].ConfigMap.Name != config.Name {
				t.Errorf("ConfigMap %s (-want +got)\n%s", config.Name, diff)
			}
		})
	}
}

// configMap decodes as strictly as kubectl, and validates like the API server.
func configMap(t *testing.T, text string) *v1.ConfigMap {
	t.Helper()
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	obj, err := runtime.Decode(codecs.UniversalDeserializer(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	config := obj.(*v1.ConfigMap)
	var internal core.ConfigMap
	if err := legacyscheme.Scheme.Convert(config, &internal, nil); err != nil {
		t.Fatal(err)
	}
	if internal.Namespace == "" {
		internal.Namespace = "default" // kubectl's
	}
	if errs := corevalidation.ValidateConfigMap(&internal); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return config
}

// The kubelet replaces only the shard in the arguments.
func TestArguments(t *testing.T) {
	_, made := job.Objects(sweeps["claim"])
	var got []string
	for _, arg := range made.Spec.Template.Spec.Containers[0].Args {
		got = append(got, expansion.Expand(arg, expansion.MappingFuncFor(map[string]string{"JOB_COMPLETION_INDEX": "7", "HOME": "/"})))
	}
	want := []string{"sweep", "--level=zone", "--step=a $(HOME) $$ b", "--shards=64", "--shard=7", "--results=/results/sweep-claim",
		"--report=json=/results/sweep-claim/shard-7.json", "--", "my sweep/scenario.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestName(t *testing.T) {
	for scenario, want := range map[string]string{
		"weights":                           "sweep-weights",
		"My Sweep (2).yaml":                 "sweep-my-sweep-2-yaml",
		"…":                                 "sweep",
		strings.Repeat("a", 99):             "sweep-" + strings.Repeat("a", 54), // sixty, and -63 of the last pod
		strings.Repeat("b ", 9):             "sweep-b-b-b-b-b-b-b-b-b",          // ends with a space
		strings.Repeat("c", 53) + " " + "d": "sweep-" + strings.Repeat("c", 53), // cut after a dash
	} {
		got := job.Name(scenario, 64)
		if got != want || len(validation.IsDNS1123Label(got+"-63")) > 0 {
			t.Errorf("%q: got %q, want %q", scenario, got, want)
		}
	}
}
