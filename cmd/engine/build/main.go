// Command build compiles the engine to WebAssembly, and writes the JavaScript of the same Go release that starts it beside it. It needs
// only Go and a module proxy.
//
// One file of kube-scheduler does not compile for a browser: except on Windows, its debugger listens for SIGUSR2. The build uses the file
// for Windows instead, which listens for os.Interrupt. Go cannot overlay files in the module cache. So the build replaces the module by a
// link to its folder there, below which an overlay works.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	kubernetes           = "k8s.io/kubernetes"
	debugger             = "pkg/scheduler/backend/cache/debugger"
	signalFile           = "signal.go"
	signalFileForWindows = "signal_windows.go"
)

func main() {
	output := flag.String("o", "bin/engine", "`FOLDER` that gets engine.wasm.gz and wasm_exec.js")
	ldflags := flag.String("ldflags", "", "`FLAGS` of the linker")
	flag.Parse()
	if err := build(*output, *ldflags); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(output, ldflags string) error {
	scratch, err := os.MkdirTemp("", "engine-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // if this fails, the folder stays among the temporary files
	flags, err := overlayFlags(scratch)
	if err != nil {
		return err
	}
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return err
	}
	// With -trimpath the compiled packages do not depend on the scratch folder, so the next build finds them in the cache.
	module := filepath.Join(scratch, "engine.wasm")
	args := append([]string{"build", "-trimpath", "-ldflags", ldflags, "-o", module}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/engine")...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	if err := compress(module, filepath.Join(output, "engine.wasm.gz")); err != nil {
		return err
	}
	starter, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(output, "wasm_exec.js"), starter, 0o644)
}

// compress writes a file with gzip's best compression. The page decompresses the file itself, whatever the web host is set to.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, small.Bytes(), 0o644)
}

// overlayFlags writes a go.mod and an overlay into the scratch folder, and returns the flags that make go build use them.
func overlayFlags(scratch string) ([]string, error) {
	upstream, err := moduleFolder()
	if err != nil {
		return nil, err
	}
	link := filepath.Join(scratch, "kubernetes")
	if err := os.Symlink(upstream, link); err != nil {
		return nil, err
	}
	modfile := filepath.Join(scratch, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(scratch, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := goOutput("mod", "edit", "-replace", kubernetes+"="+link, modfile); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(link, debugger, signalFile): filepath.Join(upstream, debugger, signalFileForWindows),
	}})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(scratch, "overlay.json")
	return []string{"-modfile", modfile, "-overlay", file}, os.WriteFile(file, overlay, 0o644)
}

// moduleFolder returns the path of the Kubernetes module in the module cache. It downloads the module if necessary.
func moduleFolder() (string, error) {
	out, err := goOutput("mod", "download", "-json", kubernetes)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	return module.Dir, json.Unmarshal([]byte(out), &module)
}

// goOutput returns the output of the go command without the final newline.
func goOutput(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}
