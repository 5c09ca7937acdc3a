import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import test from "node:test";

const modules = new Map(
  readdirSync(import.meta.dirname)
    .filter((name) => /(?<!\.test)\.js$/.test(name))
    .map((name) => [
      name,
      [...readFileSync(`${import.meta.dirname}/${name}`, "utf8").matchAll(/ from "\.\/([^"]+)";/g)].map(([, of]) => of),
    ]),
);

// Every module can be read, and tested, after those that it imports alone.
test("no imports go in a circle", () => {
  const done = new Set();
  const visit = (name, under) => {
    assert.ok(!under.includes(name), [...under, name].join(" → "));
    if (done.has(name)) return;
    for (const of of modules.get(name)) visit(of, [...under, name]);
    done.add(name);
  };
  for (const name of modules.keys()) visit(name, []);
  assert.equal(done.size, modules.size);
});

test("the page's words, data and choices can be read without a page", async () => {
  for (const name of ["words", "waits", "data", "losses", "dom", "view"]) await import(`./${name}.js`);
});
