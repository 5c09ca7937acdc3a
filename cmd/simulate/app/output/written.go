package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
)

// writtenFile is the annotation of a flag whose value is a file that the command writes. If the value is a folder, the annotation has the
// files that the command writes there.
const writtenFile = "written"

// FileVar adds a flag for a file that the command writes, with a short name unless it is "". [CheckFiles] checks the files of all these flags.
func FileVar(cmd *cobra.Command, file *string, name, short, usage string) {
	cmd.Flags().StringVarP(file, name, short, *file, usage)
	_ = cmd.Flags().SetAnnotation(name, writtenFile, []string{""}) // the flag is there
}

// FolderVar adds a flag for a folder in which the command writes these files.
func FolderVar(cmd *cobra.Command, folder *string, name, usage string, files ...string) {
	cmd.Flags().StringVar(folder, name, *folder, usage)
	_ = cmd.Flags().SetAnnotation(name, writtenFile, files) // the flag is there
}

// written is a file that the command line asks for.
type written struct {
	flag, given, file string // the flag with its dashes, its value, and the file of the value
	folder            bool   // the command creates the folder of the file
}

// writtenFiles returns the files that the command line asks for, in the order of the flags.
func writtenFiles(cmd *cobra.Command) (all []written) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		name, value := "--"+flag.Name, flag.Value.String()
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand
		}
		for _, file := range flag.Annotations[writtenFile] {
			if value != "" && value != manifest.Stdin {
				all = append(all, written{name, value, filepath.Join(value, file), file != ""})
			}
		}
		if reports, is := flag.Value.(pflag.SliceValue); is && flag.Name == "report" {
			for _, report := range reports.GetSlice() {
				if _, file, found := strings.Cut(report, "="); found && file != "" && file != manifest.Stdin {
					all = append(all, written{name, report, file, false})
				}
			}
		}
	})
	return all
}

// CheckFiles rejects a file that the command line asks for if the file cannot be created, is an input that the command line names, or is
// asked for twice. The command then fails before it does its work.
func CheckFiles(cmd *cobra.Command) error {
	inputs := givenPaths(cmd)
	var problems []error
	var seen []string
	for _, file := range writtenFiles(cmd) {
		err := checkWritable(cmd, file)
		if err == nil {
			err = overwrites(file.file, inputs)
		}
		if err == nil && slices.Contains(seen, filepath.Clean(file.file)) && file.flag != "--report" {
			err = errors.New("another flag writes this file; give each its own")
		}
		seen = append(seen, filepath.Clean(file.file))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", file.flag, file.given, err))
		}
	}
	return exit.UsageProblems(cmd, problems...)
}

// CheckRead rejects a file that the command line asks for if it is the scenario file, or one of the files, folders and patterns that were
// read, which are relative to the scenario file.
func CheckRead(cmd *cobra.Command, file string, read []string) error {
	asked := writtenFiles(cmd)
	if len(asked) == 0 {
		return nil
	}
	inputs := []string{file}
	for _, name := range read {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		files, _ := manifest.ListFiles(nil, name) // the files of another file system cannot be overwritten
		inputs = append(inputs, files...)
	}
	var problems []error
	for _, file := range asked {
		if err := overwrites(file.file, inputs); err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", file.flag, file.given, err))
		}
	}
	return exit.UsageProblems(cmd, problems...)
}

// givenPaths returns the arguments and the values of flags, among which are all paths that the command line names, and the scenario file
// of each folder. It leaves out the flags of files that the command writes.
func givenPaths(cmd *cobra.Command) []string {
	paths := slices.Clone(cmd.Flags().Args())
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Annotations[writtenFile] != nil {
			return
		}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			paths = append(paths, several.GetSlice()...)
		} else {
			paths = append(paths, flag.Value.String())
		}
	})
	for _, path := range slices.Clone(paths) {
		paths = append(paths, filepath.Join(path, loader.FileName))
	}
	return paths
}

// checkWritable returns an error if the file cannot be created.
func checkWritable(cmd *cobra.Command, file written) error {
	folder := filepath.Dir(file.file)
	results := cmd.Flags().Lookup("results") // --results creates its folder
	info, err := os.Stat(folder)
	if created := file.folder || results != nil && filepath.Clean(results.Value.String()) == folder; !created && (err != nil || !info.IsDir()) {
		return fmt.Errorf("no such folder %s; create it, or name another file", folder)
	}
	if info, err := os.Stat(file.file); err == nil && info.IsDir() {
		return errors.New("is a folder; name a file in it")
	}
	return nil
}

// overwrites returns an error if the file is one of the inputs.
func overwrites(file string, inputs []string) error {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	for _, name := range inputs {
		if input, err := os.Stat(name); err == nil && os.SameFile(info, input) {
			return fmt.Errorf("would overwrite the input %s; name another file", name)
		}
	}
	return nil
}
