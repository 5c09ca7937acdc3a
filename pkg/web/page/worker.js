// The worker that holds the engine: WebAssembly made of cmd/engine, with Go's own wasm_exec.js beside it. While it
// answers it hears nothing: the page asks it one thing at a time, and ends it where nobody waits for the answer.

/** @type {any} the scope with what wasm_exec.js and the engine put there */
const scope = self;

scope.onmessage = async ({data}) => {
  if ("start" in data) return start(data.start);
  scope.postMessage({response: await scope.faultline.answer(data.method, data.request)});
};

// start runs the module, or loads it first. A compiled one goes to the page, so that another worker starts at once.
async function start(module) {
  try {
    scope.importScripts("wasm_exec.js");
    const go = new scope.Go();
    if (!module) {
      module = await WebAssembly.compileStreaming(await unpacked(await fetch("engine.wasm.gz")));
      scope.postMessage({module});
    }
    scope.faultlineReady = () => scope.postMessage({ready: true});
    await go.run(await WebAssembly.instantiate(module, go.importObject));
    scope.postMessage({broken: "the engine has ended"});
  } catch (error) {
    scope.postMessage({broken: `the engine cannot start: ${error.message}`});
  }
}

// unpacked is the module as it comes. A host may have unpacked the file already: the first two bytes say so.
async function unpacked(response) {
  if (!response.ok) throw new Error(`engine.wasm.gz: ${response.status} ${response.statusText}`);
  const reader = response.body.getReader();
  const first = await reader.read();
  const packed = first.value?.[0] === 0x1f && first.value[1] === 0x8b;
  const all = packed ? Number(response.headers.get("Content-Length")) : 0;
  let loaded = 0;
  const count = (chunk, out) => {
    loaded += chunk.byteLength;
    scope.postMessage({progress: {loaded, all}});
    out.enqueue(chunk);
  };
  const bytes = new ReadableStream({
    start(out) {
      if (first.done) out.close();
      else count(first.value, out);
    },
    async pull(out) {
      const {done, value} = await reader.read();
      if (done) out.close();
      else count(value, out);
    },
  });
  return new Response(packed ? bytes.pipeThrough(new DecompressionStream("gzip")) : bytes, {
    headers: {"Content-Type": "application/wasm"},
  });
}
