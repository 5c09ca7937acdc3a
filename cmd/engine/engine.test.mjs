// The engine gives the native program's answers on every scenario of the tree. Run it at the top of the tree, with both
// built:
//   node --test cmd/engine/engine.test.mjs
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {readFileSync} from "node:fs";
import {before, test} from "node:test";
import {gunzipSync} from "node:zlib";

const engine = process.env.ENGINE ?? "bin/engine";
const native = process.env.NATIVE ?? "bin/simulate";

/** @type {any} the globals with what wasm_exec.js and the engine put there */
const world = globalThis;

// ask returns what the engine answers.
const ask = async (method, request) => JSON.parse(await world.faultline.answer(method, JSON.stringify(request)));

await import(`${process.cwd()}/${engine}/wasm_exec.js`);

before(async () => {
  const go = new world.Go();
  const {instance} = await WebAssembly.instantiate(
    gunzipSync(readFileSync(`${engine}/engine.wasm.gz`)),
    go.importObject,
  );
  await new Promise((ready) => {
    world.faultlineReady = ready;
    go.run(instance);
  });
});

test("scenarios", async (t) => {
  const {examples} = await ask("load", {});
  assert.ok(examples.length > 40, `${examples.length} examples`);
  for (const {name, challenge} of examples) {
    await t.test(name, async () => {
      const {input} = await ask("load", {example: name});
      // The files that the engine has are those of the tree, so that native runs the same.
      const folder = `scenarios/${name}/${challenge ? "challenge" : "scenario"}.yaml`.slice(0, -input.main.length);
      for (const [path, text] of Object.entries(input.files))
        assert.equal(text, readFileSync(folder + path, "utf8"), path);
      const {stdout, stderr, error} = spawnSync(process.cwd() + "/" + native, ["run", input.main, "-o", "json"], {
        cwd: folder,
        encoding: "utf8",
        maxBuffer: 1 << 30,
      });
      assert.ifError(error);
      assert.notEqual(stdout, "", stderr);
      const {report} = await ask("run", {input});
      assert.equal(JSON.stringify(report), JSON.stringify(JSON.parse(stdout)));
    });
  }
});

test("failures, explanations and comparisons", async () => {
  const {input} = await ask("load", {example: "kind-walkthrough"});
  const {report} = await ask("run", {input});
  const step = report.steps.at(-1);
  const {blast} = await ask("fail", {input, step: step.name});
  assert.equal(blast.steps[0].name, step.name);
  const {explain} = await ask("explain", {input, namespace: "default", pod: step.pods[0].name});
  assert.equal(explain.pods[0].node, step.pods[0].node);
  const {compare} = await ask("compare", {input, rules: ["none", "hard"], keys: ["zone"]});
  assert.deepEqual(
    compare.variants.map((variant) => variant.name),
    ["baseline", "none", "hard"],
  );
  const {steps} = await ask("quiz", {input});
  assert.deepEqual(steps[0].questions[0].answers, [["0"]]);
  const {problems} = await ask("run", {input: {main: "a.yaml", files: {"a.yaml": "steps: ["}}});
  assert.equal(problems[0].line, 1);
});
