// The scenarios that are shipped, as inputs, for tests: shipped() → [{name, input}], fixture(texts) → input.

import {readdirSync, readFileSync} from "node:fs";
import {dirname, join, relative, sep} from "node:path";
import {fileURLToPath} from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../../scenarios");

export function shipped() {
  const all = readdirSync(root, {recursive: true})
    .map((path) => path.split(sep).join("/"))
    .filter((path) => /\.(yaml|yml|json)$/.test(path))
    .sort();
  const isScenario = (path) => /^kind: Scenario$/m.test(textOf(path));
  return all.filter(isScenario).map((path) => {
    const from = (other) => relative(dirname(path), other).split(sep).join("/");
    const used = (other) => !from(other).startsWith("../") || textOf(path).includes(from(other));
    const within = all.filter((other) => other === path || (!isScenario(other) && used(other)));
    const files = Object.fromEntries(within.map((other) => [from(other), textOf(other)]));
    return {name: path.replace(/\/scenario\.yaml$/, ""), input: {main: path.slice(path.lastIndexOf("/") + 1), files}};
  });
}

const texts = new Map();

function textOf(path) {
  if (!texts.has(path)) texts.set(path, readFileSync(join(root, path), "utf8"));
  return texts.get(path);
}
