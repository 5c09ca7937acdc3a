package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
)

// source is the input that the command line of the server names. Files are read anew for each question, a live cluster when it is too old.
type source struct {
	scenario    string   // the file of a scenario, if the input is one
	hasNodes    bool     // the input has nodes of its own, and no made-up ones
	flags, args []string // name the input on another command line
	shown       string   // what names the input, for a reader: without a secret
	shownFlags  string   // the part of it that is flags
	client      *live.Client
	maxAge      time.Duration

	reading chan struct{} // holds one token, which a reader of the cluster takes
	dump    *live.Dump
	readAt  time.Time
}

func newSource(cmd *cobra.Command, in *input.Flags, args []string, maxAge time.Duration) (*source, error) {
	s := &source{flags: input.InputFlags(cmd), args: args, shown: in.RepeatArguments(cmd, args), shownFlags: in.RepeatArguments(cmd, nil), scenario: scenarioFile(args), maxAge: maxAge, reading: make(chan struct{}, 1)}
	s.reading <- struct{}{}
	if !in.Live(cmd, args) {
		return s, nil
	}
	var err error
	s.client, err = in.Connection.Client(cmd)
	return s, err
}

// read returns the input for one question, and when it was read.
func (s *source) read(ctx context.Context) (*live.Dump, time.Time, error) {
	if s.client == nil {
		return nil, time.Now(), nil
	}
	select {
	case <-s.reading:
	case <-ctx.Done():
		return nil, time.Time{}, context.Cause(ctx)
	}
	defer func() { s.reading <- struct{}{} }()
	if s.dump != nil && time.Since(s.readAt) <= s.maxAge {
		return s.dump, s.readAt, nil
	}
	at := time.Now()
	dump, err := s.client.Read(ctx, nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	if s.dump != nil && dump.Version != s.dump.Version { // questions that are being answered answer as the release of before
		return nil, time.Time{}, fmt.Errorf("%s ran Kubernetes %s and runs %s now; start simulate mcp again", dump.Name, s.dump.Version, dump.Version)
	}
	s.dump, s.readAt = dump, at
	return dump, at, nil
}

// commandLine is a command of the program that answers a question: flags as --name=value, and arguments that name objects.
type commandLine struct {
	command        string
	flags, targets []string
	changed        []string      // files of objects to apply at the end
	manifests      string        // the text of such objects
	timeout        time.Duration // 0 for the server's
}

// applyChange lets the command line apply the objects of the change. A cluster gets them by -f, and a scenario by a last step. It returns the texts of
// files that are in memory alone.
func (l *commandLine) applyChange(s *source) (files map[string]string, err error) {
	if !l.changes() {
		return nil, nil
	}
	if s.scenario != "" {
		l.add("step", changeStep)
		text, err := appendStep(s.scenario, l.changed, l.manifests)
		return map[string]string{s.scenario: text}, err
	}
	for _, file := range l.changed {
		l.add("filename", file)
	}
	if l.manifests == "" {
		return nil, nil
	}
	l.add("filename", changeFile)
	return map[string]string{changeFile: l.manifests}, nil
}

// appendStep returns the text of a scenario file with a last step that applies the files and the objects of the text.
func appendStep(file string, files []string, manifests string) (string, error) {
	data, err := manifest.ReadFile(nil, nil, file)
	if err != nil {
		return "", err
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	apply := map[string]any{}
	if len(files) > 0 {
		apply["files"] = input.RelativeTo(file, files)
	}
	if manifests != "" {
		if apply["objects"], err = input.SplitObjects(manifests); err != nil {
			return "", fmt.Errorf("manifests: %w", err)
		}
	}
	steps, _ := fields["steps"].([]any)
	fields["steps"] = append(steps, map[string]any{"name": changeStep, "apply": apply})
	text, err := yaml.Marshal(fields)
	return string(text), err
}

// scenarioFile returns the file of the scenario that the arguments name, or "".
func scenarioFile(args []string) string {
	if len(args) != 1 {
		return ""
	}
	if is, _ := loader.Classify(nil, args[0]); !is {
		return ""
	}
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		return filepath.Join(args[0], loader.FileName)
	}
	return args[0]
}

// arguments returns the command line with the input of the server. No target can be taken for a flag.
func (l *commandLine) arguments(s *source) []string {
	args, cluster := l.input(s)
	return slices.Concat([]string{l.command}, l.flags, s.flags, cluster, []string{"--"}, l.targets, args)
}

// input returns the arguments of the server as arguments of the command or, beside a change, as the cluster that it is applied to.
func (l *commandLine) input(s *source) (args, cluster []string) {
	if !l.changes() || s.scenario != "" || !s.hasNodes {
		return s.args, nil
	}
	for _, arg := range s.args {
		cluster = append(cluster, "--cluster="+arg)
	}
	return nil, cluster
}

// changes reports whether the command line applies a change.
func (l *commandLine) changes() bool { return len(l.changed) > 0 || l.manifests != "" }

// shown returns the command line as a user would write it. A change that is applied to a scenario is only in the proof.
func (l *commandLine) shown(program string, s *source) string {
	if l.changes() && s.scenario != "" {
		return program + " run proof.yaml --step " + changeStep
	}
	given := s.shown
	if _, cluster := l.input(s); cluster != nil {
		given = quoted(cluster) + " " + s.shownFlags
	}
	words := []string{program, l.command, quoted(l.targets), quoted(l.flags), strings.TrimSpace(given)}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}
