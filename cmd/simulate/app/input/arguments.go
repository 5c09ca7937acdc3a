package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// objectFiles returns the files of objects that flags and arguments name, or reports that an argument is a scenario. A scenario excludes files of
// objects and the flags in besides.
func (i *Flags) objectFiles(cmd *cobra.Command, fsys fs.FS, args []string, besides ...string) (files []string, aScenario bool, err error) {
	manifests, err := manifestArguments(cmd, fsys, args)
	if err != nil {
		return nil, false, err
	}
	files, aScenario = slices.Concat(i.Files, manifests), len(args) > len(manifests)
	switch {
	case aScenario && HasLiveFlag(cmd):
		return nil, false, exit.Usage(cmd, "got both a scenario and a live cluster; give one of them, and objects to apply with -f")
	case aScenario && len(i.Cluster)+len(i.Files)+len(besides) > 0:
		return nil, false, exit.Usage(cmd, "got both a scenario and objects; give a scenario, or objects with --cluster and -f")
	case slices.Contains(i.Cluster, manifest.Stdin) && slices.Contains(files, manifest.Stdin):
		return nil, false, exit.Usage(cmd, "standard input can only be read once; give - to --cluster or to -f, not both")
	}
	return files, aScenario, nil
}

// manifestArguments returns the arguments that are manifests: all of them, or none if one names a scenario. A single argument that could be
// either is read as a scenario, whose errors say what is wrong.
func manifestArguments(cmd *cobra.Command, fsys fs.FS, args []string) ([]string, error) {
	var scenarios, manifests []string
	var problems []error
	for _, arg := range args {
		isScenario, isManifests := loader.Classify(fsys, arg)
		_, err := os.Stat(arg)
		switch {
		case isManifests || len(args) > 1 && !isScenario && err == nil:
			manifests = append(manifests, arg)
		case len(args) > 1 && !isScenario:
			problems = append(problems, fmt.Errorf("%s: no such file or folder; give manifests, or one scenario", arg))
		default:
			scenarios = append(scenarios, arg)
		}
	}
	switch {
	case len(problems) > 0:
		return nil, errors.Join(problems...)
	case len(scenarios) > 1:
		return nil, exit.Usage(cmd, "got %d scenarios; give at most one", len(scenarios))
	case len(scenarios) == 1 && len(manifests) > 0:
		return nil, exit.Usage(cmd, "%s is a scenario, and %s is not; give one scenario, or manifests alone", scenarios[0], manifests[0])
	}
	return manifests, nil
}

// SplitTargets splits arguments into objects, given as TYPE/NAME, as TYPE and NAME or as NAMESPACE/TYPE/NAME, and files. A file that has the name of a
// type is a file if no name follows; ./TYPE always names the file.
func SplitTargets(args []string) (targets, files []string) {
	for i := 0; i < len(args); i++ {
		target := args[i]
		_, _, err := scenario.ParseTarget(target)
		if err != nil && i+1 < len(args) && !IsManifest(args[i+1]) {
			target += "/" + args[i+1]
			if _, _, err = scenario.ParseTarget(target); err == nil {
				i++
			}
		}
		if _, failed := os.Stat(args[i]); err != nil && failed != nil && !IsManifest(args[i]) {
			if ref, wrong := scenario.ParseWorkload(args[i]); wrong == nil {
				if _, _, err = scenario.ParseTarget(ref.String()); err == nil { // a word with another kind may be a missing folder
					target = args[i]
				}
			}
		}
		if err == nil {
			targets = append(targets, target)
		} else {
			files = append(files, args[i])
		}
	}
	return targets, files
}

// IsManifest reports whether a word has the ending of a file.
func IsManifest(word string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".tar", ".tgz"}, filepath.Ext(strings.TrimSuffix(word, ".gz")))
}

// SplitResource splits off the first argument that can be a custom resource, as TYPE/NAME, as TYPE and NAME or as NAMESPACE/TYPE/NAME, and
// is no file. It returns "" if there is none.
func SplitResource(args []string) (target string, files []string) {
	for i, arg := range args {
		rest := args[i+1:]
		if !strings.Contains(arg, "/") && isObjectName(arg) && len(rest) > 0 && isObjectName(rest[0]) {
			arg, rest = arg+"/"+rest[0], rest[1:]
		}
		if _, err := scenario.ParseWorkload(arg); err == nil && isObjectName(arg) {
			return arg, slices.Concat(args[:i], rest)
		}
	}
	return "", args
}

// SplitName splits off the first argument that can be the bare name of a workload. It returns "" if there is none.
func SplitName(args []string) (name string, files []string) {
	i := slices.IndexFunc(args, func(arg string) bool { return isObjectName(arg) && !strings.Contains(arg, "/") })
	if i < 0 {
		return "", args
	}
	return args[i], slices.Concat(args[:i], args[i+1:])
}

// SplitNames splits arguments into bare names and files. The name of a type, such as deploy, is not a bare name.
func SplitNames(args []string) (names, files []string) {
	for _, arg := range args {
		if _, _, err := scenario.ParseTarget(arg + "/name"); err != nil && isObjectName(arg) && !strings.Contains(arg, "/") {
			names = append(names, arg)
		} else {
			files = append(files, arg)
		}
	}
	return names, files
}

// isObjectName reports whether a word can name an object, because no file has that name.
func isObjectName(word string) bool {
	_, err := os.Stat(word)
	return err != nil && !IsManifest(word) && word != manifest.Stdin
}
