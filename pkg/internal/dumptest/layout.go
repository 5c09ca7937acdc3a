package dumptest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// Layout is the way in which a tool writes the objects of a cluster.
type Layout struct {
	Name string
	// Kinds are the kinds that the tool writes; nil means all.
	Kinds []string
	// Write returns the written files by their paths below a folder. The path of a single file is "dump" with an extension.
	Write func(list []byte) map[string][]byte
}

// clusterInfoKinds has the kinds that kubectl cluster-info dump asks for, without events.
var clusterInfoKinds = []string{"Node", "Pod", "Service", "ReplicationController", "DaemonSet", "Deployment", "ReplicaSet"}

// SortItems returns the List with its items in the order in which kubectl get prints them: by kind, and then by their keys in etcd.
func SortItems(list []byte) []byte {
	kinds := []string{"Node", "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}
	objects := parseItems(list)
	slices.SortStableFunc(objects, func(a, b layoutObject) int {
		place := func(o layoutObject) int {
			if at := slices.Index(kinds, o.Kind); at >= 0 {
				return at
			}
			return len(kinds)
		}
		return cmp.Or(place(a)-place(b), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Metadata.Namespace+"/"+a.Metadata.Name, b.Metadata.Namespace+"/"+b.Metadata.Name))
	})
	return writeList("v1", "List", objects, false)
}

// Layouts returns the layouts that can be read. All layouts but the first must give the answers of the first for the same kinds.
func Layouts() []Layout {
	pack := func(layout func([]byte) map[string][]byte, compress bool) func([]byte) map[string][]byte {
		return func(list []byte) map[string][]byte { return packTar(layout(list), compress) }
	}
	return []Layout{
		{"plain list", nil, func(list []byte) map[string][]byte { return map[string][]byte{"dump.json": list} }},
		{"UTF-16 with a byte order mark", nil, func(list []byte) map[string][]byte {
			return map[string][]byte{"dump.json": toUTF16("\ufeff" + string(list))}
		}},
		{"UTF-16 without", nil, func(list []byte) map[string][]byte { return map[string][]byte{"dump.json": toUTF16(string(list))} }},
		{"top-level array", nil, func(list []byte) map[string][]byte {
			return map[string][]byte{"dump.json": writeArray(parseItems(list))}
		}},
		{"cluster-info folder", clusterInfoKinds, clusterInfoFolder},
		{"cluster-info output", clusterInfoKinds, clusterInfoOutput},
		{"must-gather", nil, mustGatherFolder},
		{"must-gather.tar.gz", nil, pack(mustGatherFolder, true)},
		{"Troubleshoot", nil, troubleshootBundle},
		{"Troubleshoot.tar.gz", nil, pack(troubleshootBundle, true)},
		{"Sonobuoy", nil, sonobuoySnapshot},
		{"Sonobuoy.tar", nil, pack(sonobuoySnapshot, false)},
		{"Insights", nil, insightsArchive},
		{"Insights.tar.gz", nil, pack(insightsArchive, true)},
		{"an archive in a folder with a letter", nil, func(list []byte) map[string][]byte {
			return map[string][]byte{"letter.txt": []byte("see the archive"), "must-gather.tar.gz": packTar(mustGatherFolder(list), true)["dump.tar.gz"]}
		}},
		{"an archive in an archive", nil, func(list []byte) map[string][]byte {
			return packTar(map[string][]byte{"letter.txt": []byte("see the archive"), "bundle.tar.gz": packTar(troubleshootBundle(list), true)["dump.tar.gz"]}, true)
		}},
		{"Velero", nil, veleroBackup},
		{"Velero.tar.gz", nil, pack(veleroBackup, true)},
		{"lines of JSON", nil, func(list []byte) map[string][]byte {
			var lines bytes.Buffer
			for _, o := range parseItems(list) {
				must(json.Compact(&lines, o.json))
				lines.WriteByte('\n')
			}
			return map[string][]byte{"dump.jsonl": lines.Bytes()}
		}},
		{"a script's JSON", nil, scriptOutput},
		{"compressed files in a folder", nil, func(list []byte) map[string][]byte {
			files := map[string][]byte{}
			for kind, of := range groupBy(parseItems(list), func(o layoutObject) string { return o.Kind }) {
				files[strings.ToLower(kind)+"s.json.gz"] = compress(writeList("v1", "List", of, false))
			}
			return files
		}},
	}
}

// layoutObject is an item of the List.
type layoutObject struct {
	APIVersion, Kind string
	Metadata         struct{ Namespace, Name string }
	json             []byte
}

func parseItems(list []byte) (objects []layoutObject) {
	var parsed struct{ Items []json.RawMessage }
	must(json.Unmarshal(list, &parsed))
	for _, item := range parsed.Items {
		var o layoutObject
		must(json.Unmarshal(item, &o))
		o.json = item
		objects = append(objects, o)
	}
	return objects
}

// resourceName returns the plural name of the object's kind in paths, as API servers spell it.
func (o layoutObject) resourceName() string {
	plural := strings.ToLower(o.Kind) + "s"
	return strings.NewReplacer("classs", "classes", "policys", "policies").Replace(plural)
}

// groupName returns the object's API group, which is core for the group without a name.
func (o layoutObject) groupName() string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		return "core"
	}
	return group
}

// clusterInfoFolder returns the files that kubectl cluster-info dump --output-directory writes.
func clusterInfoFolder(list []byte) map[string][]byte {
	files := map[string][]byte{}
	for path, text := range clusterInfo(list) {
		files[path+".json"] = text
	}
	for _, o := range parseItems(list) {
		if o.Kind == "Pod" {
			files[o.Metadata.Namespace+"/"+o.Metadata.Name+"/logs.txt"] = writeLogs(o)
		}
	}
	return files
}

// clusterInfoOutput returns the output of kubectl cluster-info dump.
func clusterInfoOutput(list []byte) map[string][]byte {
	lists := clusterInfo(list)
	out := slices.Clone(lists["nodes"])
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		if path != "nodes" {
			out = append(out, lists[path]...)
		}
		if namespace, isPods := strings.CutSuffix(path, "/pods"); isPods {
			for _, o := range parseItems(list) {
				if o.Kind == "Pod" && o.Metadata.Namespace == namespace {
					out = append(out, writeLogs(o)...)
				}
			}
		}
	}
	return map[string][]byte{"dump.json": append(out, "Cluster info dumped to standard output\n"...)}
}

// clusterInfo returns the lists by their paths without an extension. Their items have no kind.
func clusterInfo(list []byte) map[string][]byte {
	files := map[string][]byte{}
	for path, of := range groupBy(parseItems(list), func(o layoutObject) string {
		return strings.TrimPrefix(o.Metadata.Namespace+"/"+o.resourceName(), "/")
	}) {
		files[path] = append(writeList(of[0].APIVersion, of[0].Kind+"List", of, true), '\n')
	}
	return files
}

// writeLogs returns the logs of a container that logs text which looks like objects and documents, and binary data. The last line has no end.
func writeLogs(pod layoutObject) []byte {
	of := fmt.Sprintf("logs for container main of pod %s/%s ====", pod.Metadata.Namespace, pod.Metadata.Name)
	return fmt.Appendf(nil, "==== START %s\n{\"level\":\"info\"}\n---\napiVersion: v1\nkind: Node\n\x1b[31m\x00\xff==== END logs\nlast==== END %[1]s\n", of)
}

// mustGatherFolder returns the files that oc adm must-gather writes: it has each pod in a file and in a list.
func mustGatherFolder(list []byte) map[string][]byte {
	const root = "must-gather.local.1/quay-io-openshift-sha256-1/"
	files := map[string][]byte{
		"must-gather.local.1/event-filter.html":             []byte("<!DOCTYPE html>"),
		root + "version":                                    []byte("openshift/must-gather\n4.16.0\n"),
		root + "insights-data/insights-1.tar.gz":            packTar(map[string][]byte{"config/id": []byte("not read")}, true)["dump.tar.gz"],
		root + "etcd_info/endpoint_health.json":             []byte(`[{"endpoint":"https://10.0.0.1:2379","health":true}]`),
		root + "monitoring/prometheus/status/config.json":   []byte(`{"status":"success","data":{}}`),
		root + "namespaces/shop/core/configmaps.yaml":       []byte("---\napiVersion: v1\nitems: []\nkind: ConfigMapList\n"),
		root + "namespaces/shop/pods/pod/logs/current.log":  []byte("==== not read\n"),
		root + "cluster-scoped-resources/core/broken.json":  []byte("Error from server (NotFound): the server could not find it\nmore: [\n"),
		root + "cluster-scoped-resources/core/nodes.status": []byte("not read"),
	}
	for path, of := range groupBy(parseItems(list), func(o layoutObject) string {
		switch {
		case o.Kind == "Namespace":
			return root + "namespaces/" + o.Metadata.Name + "/" + o.Metadata.Name + ".yaml"
		case o.Metadata.Namespace == "":
			return root + "cluster-scoped-resources/" + o.groupName() + "/" + o.resourceName() + "/" + o.Metadata.Name + ".yaml"
		}
		return root + "namespaces/" + o.Metadata.Namespace + "/" + o.groupName() + "/" + o.resourceName() + ".yaml"
	}) {
		if of[0].Metadata.Namespace == "" {
			files[path] = toYAML(of[0].json)
		} else {
			files[path] = toYAML(writeList(of[0].APIVersion, of[0].Kind+"List", of, false))
		}
	}
	for _, o := range parseItems(list) {
		if o.Kind == "Pod" {
			files[fmt.Sprintf("%snamespaces/%s/pods/%s/%[3]s.yaml", root, o.Metadata.Namespace, o.Metadata.Name)] = toYAML(o.json)
		}
	}
	return files
}

// troubleshootBundle returns a support bundle of Troubleshoot.
func troubleshootBundle(list []byte) map[string][]byte {
	const root = "support-bundle-1/"
	files := map[string][]byte{
		root + "version.yaml":                                       []byte("apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec:\n  versionNumber: 0.119.0\n"),
		root + "analysis.json":                                      []byte(`[{"name":"node.resources","insight":{"severity":"debug"}}]`),
		root + "cluster-info/cluster_version.json":                  []byte(`{"info":{"major":"1","minor":"37"},"string":"v1.37.1"}`),
		root + "cluster-resources/auth-cani-list/default.json":      []byte(`[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]`),
		root + "node-metrics/n1.json":                               []byte(`{"node":{"nodeName":"n1"},"pods":[{"podRef":{"name":"p","namespace":"default"},"containers":[]}]}`),
		root + "cluster-resources/groups.json":                      []byte(`[{"name":"apps","versions":[]}]`),
		root + "cluster-resources/pod-disruption-budgets-info.json": []byte(`{"default":"the server could not find the requested resource"}`),
		root + "cluster-resources/events-errors.json":               []byte(`["timeout"]`),
		root + "cluster-resources/nothing.json":                     nil,
	}
	for path, of := range groupBy(parseItems(list), func(o layoutObject) string {
		if o.Metadata.Namespace == "" {
			return root + "cluster-resources/" + o.resourceName() + ".json"
		}
		return root + "cluster-resources/" + o.resourceName() + "/" + o.Metadata.Namespace + ".json"
	}) {
		files[path] = writeList(of[0].APIVersion, of[0].Kind+"List", of, false)
	}
	return files
}

// sonobuoySnapshot returns a snapshot of Sonobuoy, with the objects in arrays.
func sonobuoySnapshot(list []byte) map[string][]byte {
	files := map[string][]byte{
		"hosts/n1/configz.json":     []byte(`{"kubeletconfig":{"maxPods":110}}`),
		"hosts/n1/healthz.json":     []byte(`{"status":200}`),
		"meta/query-time.json":      []byte(`{"queryobj":"Pods","error":""}` + "\n" + `{"queryobj":"Nodes","error":""}` + "\n"),
		"plugins/e2e/results.yaml":  []byte("name: e2e\nstatus: passed\n"),
		"serverversion.json":        []byte(`{"major":"1","minor":"37"}`),
		"servergroups.json":         []byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`),
		"podlogs/default/p/log.txt": []byte("not read"),
	}
	files["resources/cluster/core_v1_componentstatuses.json"] = []byte(`[{"metadata":{"name":"scheduler"},"conditions":[{"type":"Healthy","status":"True"}]}]`)
	for path, of := range groupBy(parseItems(list), func(o layoutObject) string {
		file := o.groupName() + "_" + o.APIVersion[strings.Index(o.APIVersion, "/")+1:] + "_" + o.resourceName() + ".json"
		if o.Metadata.Namespace == "" {
			return "resources/cluster/" + file
		}
		return "resources/ns/" + o.Metadata.Namespace + "/" + file
	}) {
		files[path] = writeArray(of)
	}
	return files
}

// veleroBackup returns a backup of Velero, which has each object in a file, and once more by the version that the API server prefers.
func veleroBackup(list []byte) map[string][]byte {
	files := map[string][]byte{"metadata/version": []byte("1.1.0\n")}
	for _, o := range parseItems(list) {
		resource, place := "resources/"+o.resourceName(), "/cluster/"
		if group := o.groupName(); group != "core" {
			resource += "." + group
		}
		if o.Metadata.Namespace != "" {
			place = "/namespaces/" + o.Metadata.Namespace + "/"
		}
		files[resource+place+o.Metadata.Name+".json"] = o.json
		files[resource+"/v1-preferredversion"+place+o.Metadata.Name+".json"] = o.json
	}
	return files
}

// scriptOutput returns what a script writes that collects the objects of each kind, beside values of its own.
func scriptOutput(list []byte) map[string][]byte {
	fields := map[string]any{"cluster": "prod", "collected": "2025-01-01T00:00:00Z", "complete": true, "leases": []string{}}
	for kind, of := range groupBy(parseItems(list), func(o layoutObject) string { return o.resourceName() }) {
		fields[kind] = json.RawMessage(writeArray(of))
	}
	text, err := json.Marshal(fields)
	must(err)
	return map[string][]byte{"dump.json": text}
}

// insightsArchive returns an archive of OpenShift's Insights operator, which has a file for each object without its kind.
func insightsArchive(list []byte) map[string][]byte {
	files := map[string][]byte{
		"insights-operator/gathers.json": []byte(`{"status_reports":[{"name":"clusterconfig","errors":null}]}`),
		"config/metrics":                 []byte("# not read\n"),
		"config/alerts.json":             []byte(`[{"labels":{"alertname":"Watchdog"}}]`),
	}
	for _, o := range parseItems(list) {
		var fields map[string]any
		must(json.Unmarshal(o.json, &fields))
		delete(fields, "apiVersion")
		delete(fields, "kind")
		text, err := json.Marshal(fields)
		must(err)
		folder := "config/" + strings.ToLower(o.Kind) + "/"
		if o.Metadata.Namespace != "" {
			folder += o.Metadata.Namespace + "/"
		}
		files[folder+o.Metadata.Name+".json"] = text
	}
	return files
}

// groupBy groups the objects by a word of each.
func groupBy(objects []layoutObject, word func(layoutObject) string) map[string][]layoutObject {
	groups := map[string][]layoutObject{}
	for _, o := range objects {
		groups[word(o)] = append(groups[word(o)], o)
	}
	return groups
}

// writeList returns a list as an API server writes it. If bare is set, its items have no apiVersion and kind.
func writeList(apiVersion, kind string, of []layoutObject, bare bool) []byte {
	var items []any
	for _, o := range of {
		var fields map[string]any
		must(json.Unmarshal(o.json, &fields))
		if bare {
			delete(fields, "apiVersion")
			delete(fields, "kind")
		}
		items = append(items, fields)
	}
	text, err := json.MarshalIndent(struct {
		Kind       string         `json:"kind"`
		APIVersion string         `json:"apiVersion"`
		Metadata   map[string]any `json:"metadata"`
		Items      []any          `json:"items"`
	}{kind, apiVersion, map[string]any{"resourceVersion": "9000"}, items}, "", "    ")
	must(err)
	return text
}

func writeArray(of []layoutObject) []byte {
	var values []json.RawMessage
	for _, o := range of {
		values = append(values, o.json)
	}
	text, err := json.Marshal(values)
	must(err)
	return text
}

func toYAML(text []byte) []byte {
	text, err := yaml.JSONToYAML(text)
	must(err)
	return append([]byte("---\n"), text...)
}

func toUTF16(text string) (data []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		data = append(data, byte(unit), byte(unit>>8))
	}
	return data
}

// packTar packs files into a tar archive, below a folder and in reverse order of their names, together with a symbolic link to a file
// outside.
func packTar(files map[string][]byte, gzipped bool) map[string][]byte {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "./top/secrets.json", Linkname: "/etc/passwd"}))
	names := slices.Sorted(maps.Keys(files))
	slices.Reverse(names)
	for _, name := range names {
		must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./top/" + name, Mode: 0o600, Size: int64(len(files[name]))}))
		_, err := w.Write(files[name])
		must(err)
	}
	must(w.Close())
	if gzipped {
		return map[string][]byte{"dump.tar.gz": compress(packed.Bytes())}
	}
	return map[string][]byte{"dump.tar": packed.Bytes()}
}

func compress(data []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(data)
	must(err)
	must(w.Close())
	return packed.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
