package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/flink"
	"github.com/faultline/faultline/pkg/input/operator/generic"
	"github.com/faultline/faultline/pkg/input/operator/hydrolix"
	"github.com/faultline/faultline/pkg/input/operator/kafscale"
	"github.com/faultline/faultline/pkg/input/operator/keda"
	"github.com/faultline/faultline/pkg/input/operator/stackable"
)

// FuzzExpand looks for resources that make an operator panic, or that expand differently the second time.
func FuzzExpand(f *testing.F) {
	operators := append(generic.BuiltIn(), kafscale.New(kafscale.Options{}), stackable.New(stackable.Options{}), hydrolix.New(hydrolix.Options{}), flink.New(), keda.New())
	for _, pattern := range []string{"kafscale/*/*.yaml", "stackable/*/*.yaml", "hydrolix/*.yaml", "hydrolix/*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../../../scenarios", pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("apiVersion: flink.apache.org/v1beta1\nkind: FlinkDeployment\nmetadata: {name: job}\nspec: {job: {parallelism: 5}, podTemplate: {spec: {containers: []}}}"))
	f.Add([]byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {scaleTargetRef: {name: web}, maxReplicaCount: 5}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := manifest.Decode("fuzz.yaml", data)
		if err != nil {
			return
		}
		expand := func() (made int, problems string) {
			result, err := operator.Expand(operators, set.Ignored)
			if err != nil {
				return 0, err.Error()
			}
			return len(result.Objects), ""
		}
		made, problems := expand()
		if again, problemsAgain := expand(); again != made || problemsAgain != problems {
			t.Errorf("%d objects and %q, then %d and %q", made, problems, again, problemsAgain)
		}
	})
}
