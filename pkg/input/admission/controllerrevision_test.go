package admission

import (
	"fmt"
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestAdmitRefusesARevisionWithoutTemplate(t *testing.T) {
	const text = `
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: db-1, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: db, uid: u, controller: true}]}
revision: 1
data: %s
`
	tests := []struct{ owner, data, want string }{
		{"StatefulSet", "{}", "ControllerRevision default/db-1: data.spec.template.spec.containers: required value"},
		{"DaemonSet", "{spec: 1}", "ControllerRevision default/db-1: data: json: cannot unmarshal number into Go struct field DaemonSet.spec of type v1.DaemonSetSpec"},
		{"Other", "{spec: 1}", "<nil>"}, // other controllers may keep other data there
	}
	for _, test := range tests {
		_, _, err := Admit(&cluster.State{}, decode(t, fmt.Sprintf(text, test.owner, test.data))...)
		if got := fmt.Sprint(err); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.owner, got, test.want)
		}
	}
}
