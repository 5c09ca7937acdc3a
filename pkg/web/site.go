package web

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// engineFiles lists the output of the build of cmd/engine: the module, and Go's own script that runs modules of the same version of Go.
var engineFiles = []string{"engine.wasm.gz", "wasm_exec.js"}

// sitePolicy is the policy for pages whose host sends no headers. It also allows the worker, which compiles the engine. A policy in a page
// cannot say which other pages may frame it.
const sitePolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'none'"

// WriteSite writes the page and an engine into the folder, as files that any web host can serve, and returns their total size in bytes.
// engine is the folder with the output of the build of cmd/engine; it is an error if the output is not there.
func WriteSite(folder, engine string) (size int, err error) {
	site := map[string][]byte{}
	for _, name := range engineFiles {
		if site[name], err = os.ReadFile(filepath.Join(engine, name)); errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("%s: there is no engine for browsers; build it with 'make engine', build the whole site with 'make site', or name its folder with --engine", filepath.Join(engine, name))
		} else if err != nil {
			return 0, err
		}
	}
	for _, name := range []string{"index.html", "playground.js", "playground.css", "worker.js"} {
		site[name] = read(name)
	}
	site["index.html"] = bytes.Replace(site["index.html"], []byte(`<meta name="engine" content="http">`),
		[]byte(`<meta http-equiv="Content-Security-Policy" content="`+sitePolicy+`">`+"\n"+`<meta name="engine" content="worker">`), 1)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return 0, err
	}
	for name, data := range site {
		size += len(data)
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return 0, err
		}
	}
	return size, nil
}
