import assert from "node:assert/strict";
import test from "node:test";
import {LARGEST, decode, encode} from "./link.js";
import {shipped} from "./shipped.js";

const state = (text) => ({
  version: "v0.4.0+x",
  main: "scenario.yaml",
  files: {"scenario.yaml": text, "../a/ö.yaml": ""},
  view: {step: "zone & 1=a", failed: {key: "example.com/a", domains: ["a,b", "c:&"]}},
});

// random is text that does not compress.
function random(length) {
  let seed = 1,
    text = "";
  while (text.length < length) text += String.fromCharCode(32 + ((seed = (seed * 48271) % 2147483647) % 94));
  return text;
}

for (const [name, text] of [
  ["nothing", ""],
  ["Unicode", 'description: 日本語 – ü 👩‍🚀 \u0000 \u2028 "#&=%\n'],
  ["1 MB", "a: b\n".repeat(200_000)],
  ["1 MB that does not compress", random(1_000_000)],
]) {
  test(`a link gives back ${name}`, async () => {
    const link = await encode(state(text));
    assert.match(link, /^#step=zone%20%26%201%3Da&fail=example\.com\/a,a%2Cb,c:%26&v=v0\.4\.0%2Bx&s=[\w-]+$/);
    assert.deepEqual(await decode(link), state(text));
    assert.equal(await encode(state(text)), link);
  });
}

test("a link to every shipped scenario gives it back", async () => {
  for (const {name, input} of shipped())
    assert.deepEqual(
      await decode(await encode({version: "v", ...input, view: {}})),
      {version: "v", ...input, view: {}},
      name,
    );
});

test("what is part of the program goes by its name", async () => {
  const view = {example: "lessons/3-weights", step: "near"};
  assert.equal(await encode({view}), "#lesson=3-weights&step=near");
  assert.deepEqual(await decode("#lesson=3-weights&step=near"), {view});
  const failed = {key: "topology.kubernetes.io/zone", domains: ["a", "b"]};
  const link = await encode({view: {example: "zone-failure", failed}});
  assert.equal(link, "#example=zone-failure&fail=topology.kubernetes.io/zone,a,b");
  assert.deepEqual(await decode(link), {view: {example: "zone-failure", failed}});
  assert.match((await decode("#lesson=%")).error, /damaged/);
});

test("the view of an older link stands in its state", async () => {
  const packed = new Blob(['{"main": "a", "files": {"a": ""}, "view": {"step": "x"}}'])
    .stream()
    .pipeThrough(new CompressionStream("deflate-raw"));
  const text = Buffer.from(await new Response(packed).arrayBuffer()).toString("base64url");
  assert.deepEqual((await decode("#v=1&s=" + text)).view, {step: "x"});
});

test("what is too large is refused", async () => {
  await assert.rejects(encode(state("x".repeat(LARGEST))), /2\.00 MB, and a link holds 2 MB at most/);
  const zeros = new Blob([new Uint8Array(300_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bomb = Buffer.from(await new Response(zeros).arrayBuffer()).toString("base64url");
  assert.deepEqual(await decode("#v=1&s=" + bomb), {error: "this link holds more than 2 MB, which is not read"});
  assert.match((await decode("#v=1&s=" + "a".repeat(4_000_001))).error, /too large/);
});

test("what is damaged is refused", async () => {
  const link = await encode(state("apiVersion: faultline/v1alpha1\n".repeat(20)));
  const packed = async (text) =>
    "#v=1&s=" +
    Buffer.from(
      await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer(),
    ).toString("base64url");
  for (const wrong of [
    link.slice(0, -4),
    link.slice(0, -10) + "!" + link.slice(-9),
    "#s=",
    "#v=%&s=" + link.split("s=")[1],
    "#s=a",
    "#v=1&s=AAAA",
    await packed("{"),
    await packed(Buffer.from([0xff])),
  ]) {
    assert.match((await decode(wrong)).error ?? "", /damaged/, wrong);
  }
  for (const wrong of [
    "null",
    "{}",
    "[]",
    '{"main": "a", "files": {"a": 1}}',
    '{"main": "b", "files": {"a": ""}}',
    '{"main": "toString", "files": {}}',
    '{"main": "a", "files": {"a": ""}, "view": 1}',
  ]) {
    assert.match((await decode(await packed(wrong))).error ?? "", /no scenario|damaged/, wrong);
  }
  assert.equal(await decode(""), undefined);
  assert.deepEqual(await decode("#lessons"), {home: true});
  assert.equal(await decode("#step-2"), undefined);
});
