package whatif

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Keys computes keys of versions. A key is a hash of everything that the result depends on: the scenario, the seed, the change to the
// scenario, the options, and the versions of Faultline and of the scheduler. Equal keys mean equal results.
type Keys struct {
	common []byte
	// objects has the digests of objects, and configs the encoded configurations, which versions share.
	objects map[cluster.Object][]byte
	configs map[*sched.Config][]byte
}

// NewKeys returns the Keys for versions of the scenario with these options. The version is Faultline's.
func NewKeys(s *scenario.Scenario, opts Options, version string) (*Keys, error) {
	k := &Keys{objects: map[cluster.Object][]byte{}, configs: map[*sched.Config][]byte{}}
	base, err := k.digestScenario(s)
	if err != nil {
		return nil, err
	}
	k.common, err = digestJSON(struct {
		Version, Scheduler string
		Base               []byte
		Step               string
		Metric             metric.Options
	}{version, sched.Version, base, opts.Step, opts.Metric})
	return k, err
}

// Base returns the key of the unchanged scenario, in hexadecimal digits.
func (k *Keys) Base() string { return hex.EncodeToString(k.common) }

// OfPoint returns the key of a point, in hexadecimal digits.
func (k *Keys) OfPoint(point *scenario.Point) (string, error) {
	version, err := k.digestScenario(point.Scenario) // the digest covers, for example, the files of another cluster
	if err != nil {
		return "", err
	}
	key, err := digestJSON(struct {
		Common, Version []byte
		Change          json.RawMessage
	}{k.common, version, point.Change})
	return hex.EncodeToString(key), err
}

// digestScenario returns the digest of everything that a run of the scenario depends on, except the functions that edit it.
func (k *Keys) digestScenario(s *scenario.Scenario) ([]byte, error) {
	config, found := k.configs[s.Config]
	if !found {
		var err error
		if config, err = s.Config.Encode(); err != nil {
			return nil, err
		}
		k.configs[s.Config] = config
	}
	content := struct {
		Ties sched.Ties
		sched.Release
		Config             []byte
		LevelKeys          []string
		Mode               string
		Autoscaler         *scenario.Autoscaler
		Deciders           []scenario.Decider
		DeciderCommands    [][]string
		Cluster, Workloads [][]byte
		Steps              []scenario.Step
		Applied            [][][]byte
		Federation         scenario.Federation
		Members            []memberDigest
		Karmada            []karmadaDigest // for the workloads, then for each step
	}{Federation: s.Federation, Ties: s.Ties, Release: s.Config.Release(), Config: config, LevelKeys: s.LevelKeys, Mode: s.Failures.Mode, Autoscaler: s.Autoscaler, Deciders: s.Deciders, DeciderCommands: list.Map(s.Deciders, func(d scenario.Decider) []string { return d.Command })}
	var err error
	if content.Cluster, err = k.digestObjects(s.Cluster); err != nil {
		return nil, err
	}
	if content.Workloads, err = k.digestObjects(s.Workloads); err != nil {
		return nil, err
	}
	for i := range s.Members {
		m, err := k.digestMember(&s.Members[i])
		if err != nil {
			return nil, err
		}
		content.Members = append(content.Members, *m)
	}
	karmada, err := k.digestKarmada(&s.Karmada)
	if err != nil {
		return nil, err
	}
	content.Karmada = append(content.Karmada, *karmada)
	for _, step := range s.Steps {
		if karmada, err = k.digestKarmada(&step.Karmada); err != nil {
			return nil, err
		}
		content.Karmada = append(content.Karmada, *karmada)
		applied, err := k.digestObjects(step.Objects)
		if err != nil {
			return nil, err
		}
		content.Steps, content.Applied = append(content.Steps, step.Step), append(content.Applied, applied)
	}
	return digestJSON(content)
}

// memberDigest is the digest of a member: the Cluster object in Karmada, and the objects in the cluster.
type memberDigest struct {
	Cluster *federation.Cluster
	Objects [][]byte
}

func (k *Keys) digestMember(m *scenario.Member) (*memberDigest, error) {
	objects, err := k.digestObjects(m.Objects)
	return &memberDigest{m.Cluster, objects}, err
}

// karmadaDigest is the digest of Karmada's objects.
type karmadaDigest struct {
	Policies  []*federation.Policy
	Overrides []*federation.Override
	Templates []*federation.Template
	Made      [][][]byte // the objects of each template
	Joined    *memberDigest
}

func (k *Keys) digestKarmada(given *scenario.Karmada) (*karmadaDigest, error) {
	d := &karmadaDigest{Policies: given.Policies, Overrides: given.Overrides}
	for _, t := range given.Resources {
		made, err := k.digestObjects(t.Objects)
		if err != nil {
			return nil, err
		}
		d.Templates, d.Made = append(d.Templates, t.Template), append(d.Made, made)
	}
	if given.Joined == nil {
		return d, nil
	}
	var err error
	d.Joined, err = k.digestMember(given.Joined)
	return d, err
}

// digestObjects returns the digests of the objects.
func (k *Keys) digestObjects(objects []cluster.Object) ([][]byte, error) {
	var digests [][]byte
	for _, obj := range objects {
		digest, found := k.objects[obj]
		if !found {
			var err error
			if digest, err = digestJSON(obj); err != nil {
				return nil, err
			}
			k.objects[obj] = digest
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

func digestJSON(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(data)
	return digest[:], nil
}

// Store stores the results of versions in a folder, one file for each version, named by its key. Several processes can use one folder: they
// write the same content into the same files, and each file appears at once. A process that is killed while it writes leaves a file whose
// name begins with a dot. Nobody reads this file, and the next process that writes the same point removes it.
type Store struct{ dir string }

// OpenStore creates the folder if it does not exist.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Store{dir}, nil
}

// storedPoint is the content of a file of the store.
type storedPoint struct {
	Key   string
	Found *Found
}

// Get returns the result of the version, or nil if the store does not have it. A truncated file, as a crash may leave it on some file
// systems, counts as missing. A file that no Store has written is an error.
func (s *Store) Get(key string) (*Found, error) {
	info, err := os.Stat(s.pathOf(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = manifest.CheckRegular(s.pathOf(key), info)
	}
	if err != nil {
		return nil, err
	}
	data, err := manifest.ReadFile(nil, nil, s.pathOf(key))
	if err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		return nil, nil
	}
	var k storedPoint
	if err := json.Unmarshal(data, &k); err != nil || k.Key != key || k.Found == nil {
		return nil, fmt.Errorf("%s: is no finished point, though its name says so; delete the file", s.pathOf(key))
	}
	return k.Found, nil
}

// Put stores the result of the version.
func (s *Store) Put(key string, found *Found) error {
	data, err := json.Marshal(storedPoint{key, found})
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(s.dir, "."+key+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	// The rename makes sure that a process that is killed leaves no partial file of that name, and the Sync before it that a crash of the
	// machine leaves none.
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), s.pathOf(key))
	}
	if _, there := os.Stat(s.pathOf(key)); errors.Is(err, fs.ErrNotExist) && there == nil {
		return nil // another process has written the same file and removed this one
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return s.removeTemporaryFiles(key)
}

// removeTemporaryFiles removes temporary files of the same version that killed processes have left.
func (s *Store) removeTemporaryFiles(key string) error {
	left, err := filepath.Glob(filepath.Join(s.dir, "."+key+"-*"))
	for _, file := range left {
		if failed := os.Remove(file); !errors.Is(failed, fs.ErrNotExist) { // another process may have removed it
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (s *Store) pathOf(key string) string { return filepath.Join(s.dir, key+".json") }
