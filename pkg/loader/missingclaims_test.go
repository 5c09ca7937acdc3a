package loader

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Nodes n1 and n2 are in zone a, n3 is in zone b.
func TestMissingClaims(t *testing.T) {
	const (
		nodes = `
{apiVersion: v1, kind: Node, metadata: {name: n1, resourceVersion: "1", labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, resourceVersion: "1", labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3, resourceVersion: "1", labels: {kubernetes.io/hostname: n3, topology.kubernetes.io/zone: b}}}
`
		zonal  = "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: ebs.csi.aws.com}\n"
		shared = "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: efs}, provisioner: efs.csi.aws.com}\n"
		local  = "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: rancher.io/local-path}\n"
		set    = `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, resourceVersion: "1", uid: db}
spec:
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}
  volumeClaimTemplates: [{metadata: {name: disk}, spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, resourceVersion: "1", uid: db-0, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]}
spec: {nodeName: n3, containers: [{name: c, image: i}], volumes: [{name: disk, persistentVolumeClaim: {claimName: disk-db-0}}]}
`
		scratch = `---
apiVersion: v1
kind: Pod
metadata: {name: ci, resourceVersion: "1", uid: ci}
spec:
  nodeName: n1
  containers: [{name: c, image: i}]
  volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}}}}]
`
		unprovisioned = `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, resourceVersion: "1", uid: data, annotations: {pv.kubernetes.io/bind-completed: "yes", volume.kubernetes.io/storage-provisioner: ebs.csi.aws.com}}
spec: {accessModes: [ReadWriteOnce], storageClassName: gone, volumeName: pv-1, resources: {requests: {storage: 7Gi}}}
status: {phase: Bound}
`
		held = `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1, resourceVersion: "1"}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 9Gi}, hostPath: {path: /d}, claimRef: {namespace: default, name: data, uid: u}}
`
	)
	pod := func(name, node, more string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + `, resourceVersion: "1", uid: ` + name + "}, spec: {" + node +
			"containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}" + more + "}\n"
	}
	app := pod("app", "nodeName: n1, ", "")
	for name, c := range map[string]struct {
		objects string
		want    []string // the claims with their volumes, then the note without its beginning and its end
	}{
		"nothing is known":                     {app, []string{"data 1Gi ReadWriteMany anywhere", "with a volume that all nodes reach"}},
		"one class":                            {app + zonal, []string{"data 1Gi ReadWriteMany in zone a", "with a volume that only nodes in the zone of its pod reach (class gp3 of ebs.csi.aws.com)"}},
		"a class of a node":                    {app + local, []string{"data 1Gi ReadWriteMany in hostname n1", "with a volume that only the node of its pod reaches (class local of rancher.io/local-path)"}},
		"classes that differ":                  {app + zonal + shared, []string{"data 1Gi ReadWriteMany anywhere", "with a volume that all nodes reach"}},
		"one claim in two zones":               {app + pod("other", "nodeName: n3, ", "") + zonal, []string{"data 1Gi ReadWriteMany anywhere", "with a volume that all nodes reach"}},
		"a StatefulSet":                        {set + zonal + shared, []string{"disk-db-0 10Gi ReadWriteOnce in zone b", "with a volume that only nodes in the zone of its pod reach (class gp3 of ebs.csi.aws.com)"}},
		"a StatefulSet whose class is missing": {set, []string{"disk-db-0 10Gi ReadWriteOnce anywhere", "with a volume that all nodes reach"}},
		"an ephemeral volume":                  {scratch + zonal, []string{"ci-tmp 5Gi ReadWriteOnce in zone a of ci", "with a volume that only nodes in the zone of its pod reach (class gp3 of ebs.csi.aws.com)"}},
		"a claim without its volume":           {app + unprovisioned, []string{"data 7Gi ReadWriteOnce in zone a", "with a volume that only nodes in the zone of its pod reach (class gone of ebs.csi.aws.com)"}},
		"a volume without its claim":           {app + held, []string{"data 9Gi ReadWriteOnce anywhere", "with a volume that the input has"}},
		"two kinds": {app + set + zonal + shared, []string{"data 1Gi ReadWriteMany anywhere", "disk-db-0 10Gi ReadWriteOnce in zone b",
			"1 with a volume that all nodes reach, 1 with a volume that only nodes in the zone of its pod reach (class gp3 of ebs.csi.aws.com)"}},
		"a pod that waits":   {pod("app", "", ""), nil},
		"a pod that is done": {pod("app", "nodeName: n1, ", ", status: {phase: Succeeded}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromFiles(strings.NewReader(nodes+c.objects), []string{"-"}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			volumes := map[string]*v1.PersistentVolume{}
			for _, obj := range s.Objects() {
				if pv, is := obj.(*v1.PersistentVolume); is {
					volumes[pv.Name] = pv
				}
			}
			for _, obj := range s.Objects() {
				if claim, is := obj.(*v1.PersistentVolumeClaim); is {
					got = append(got, claimInWords(claim, volumes[claim.Spec.VolumeName]))
				}
			}
			for _, note := range s.Notes {
				if _, after, found := strings.Cut(note, "assumed to be there, "); found {
					got = append(got, strings.TrimSuffix(after, "; give PersistentVolumeClaims and PersistentVolumes, too."))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("claims and note (-want +got):\n%s", diff)
			}
		})
	}
}

// claimInWords describes a claim and its volume: "data 1Gi ReadWriteOnce in zone a".
func claimInWords(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) string {
	if pv == nil || claim.Status.Phase != v1.ClaimBound || pv.Spec.ClaimRef.UID != claim.UID {
		return claim.Name + " is not bound"
	}
	size := pv.Spec.Capacity[v1.ResourceStorage]
	text := claim.Name + " " + size.String() + " " + string(claim.Spec.AccessModes[0])
	if pv.Spec.NodeAffinity == nil {
		text += " anywhere"
	} else {
		in := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
		text += " in " + in.Key[strings.LastIndex(in.Key, "/")+1:] + " " + in.Values[0]
	}
	for _, owner := range claim.OwnerReferences {
		text += " of " + owner.Name
	}
	if !cluster.IsAssumed(claim) && !cluster.IsAssumed(pv) {
		text += ", given"
	}
	return text
}
