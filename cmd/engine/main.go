//go:build js && wasm

// Command engine is the simulation for a page without a server. The command in the folder build compiles it to WebAssembly. A Web Worker
// keeps one instance, because starting it takes longer than an answer. It sets faultline.answer, and calls faultlineReady if that function
// exists.
package main

import (
	"context"
	"syscall/js"

	"github.com/faultline/faultline/pkg/playground"
)

// version is Faultline's version. The build sets it.
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

// promise returns a JavaScript promise of the text. The worker does nothing else until the text is ready. A page that will not wait
// terminates the worker.
func promise(text func() string) js.Value {
	settle := js.FuncOf(func(_ js.Value, args []js.Value) any {
		go func() { args[0].Invoke(text()) }()
		return nil
	})
	defer settle.Release()
	return js.Global().Get("Promise").New(settle)
}
