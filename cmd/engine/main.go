//go:build js && wasm

// Command engine is the simulation for a page without a server, compiled to WebAssembly by the command in its folder build. A worker
// keeps one instance of it, whose start takes longer than its answers. It sets faultline.answer, and calls faultlineReady if there is such
// a function.
package main

import (
	"context"
	"syscall/js"

	"github.com/faultline/faultline/pkg/playground"
)

// version is Faultline's own; the build sets it.
var version = "dev"

func main() {
	engine := playground.New(version)
	js.Global().Set("faultline", map[string]any{"answer": js.FuncOf(func(_ js.Value, args []js.Value) any {
		return promise(func() string {
			return string(engine.Answer(context.Background(), args[0].String(), []byte(args[1].String())))
		})
	})})
	if ready := js.Global().Get("faultlineReady"); ready.Type() == js.TypeFunction {
		ready.Invoke()
	}
	select {}
}

// promise returns a JavaScript promise of the text. The worker does nothing else until the text is there; a page that does not want to wait
// ends the worker.
func promise(text func() string) js.Value {
	settle := js.FuncOf(func(_ js.Value, args []js.Value) any {
		go func() { args[0].Invoke(text()) }()
		return nil
	})
	defer settle.Release()
	return js.Global().Get("Promise").New(settle)
}
