package admission

import (
	"testing"

	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestEveryKindIsHeldByAState(t *testing.T) {
	for _, k := range kindTable {
		obj, err := legacyscheme.Scheme.New(k.GroupVersion().WithKind(k.name))
		if err != nil || !cluster.Supports(obj) {
			t.Errorf("cluster.State holds no %s", k.name)
		}
	}
}
