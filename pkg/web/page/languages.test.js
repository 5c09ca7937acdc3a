import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import test from "node:test";
import {inLanguage, speak} from "#shared/language.js";

const folder = new URL("../languages/", import.meta.url);
const languages = new Map(
  readdirSync(folder).map((file) => [
    file.replace(/\.json$/, ""),
    JSON.parse(readFileSync(new URL(file, folder), "utf8")),
  ]),
);

// kept are the parts of a text that each translation must have: places for others, code, and bold marks.
const kept = (text) => (text.match(/\{\w\}|`[^`]+`|\*\*/g) ?? []).sort();

test("every language says all that the others say, and loses no place and no code", () => {
  assert.deepEqual([...languages.keys()].sort(), ["de", "pt"]);
  const [[, first]] = languages;
  for (const [code, words] of languages)
    for (const part of ["page", "lessons"]) {
      assert.deepEqual(Object.keys(words[part]), Object.keys(first[part]), `${code}: ${part}`);
      for (const [english, said] of Object.entries(words[part])) {
        assert.ok(said.trim(), `${code}: ${english}`);
        assert.deepEqual(kept(said), kept(english), `${code}: ${english}`);
      }
    }
});

test("a text with places is translated with what is in them", () => {
  speak({"{n} pods": "{n} Pods", "{x} of {y} run": "von {y} laufen {x}", none: "keine", "{v} and {w}": "{v} und {w}"});
  for (const [text, want] of [
    ["3 pods", "3 Pods"],
    [" none of 3 pods run ", " von 3 Pods laufen keine "],
    ["a, b and c", "a, b und c"],
    ["web-0", "web-0"],
    ["none-of-it", "none-of-it"],
    ["something and something else", "something and something else"],
  ])
    assert.equal(inLanguage(text), want);
  speak({});
  assert.equal(inLanguage("none"), "none");
});
