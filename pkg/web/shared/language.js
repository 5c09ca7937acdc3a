// The language of the reader. Every text passes here on its way to the page, so that what makes a text need not know it.
//
//   speak(words)
//       words are {English: translation}. In both, {n}, {m} and {k} stand for a number, {v} and {w} for a name or several
//       with commas, and other letters for any text, which is translated in turn. Without speak the page is English
//   inLanguage(text) → text
//       the same where there is no translation: names, and Kubernetes' own words

// places are what stands for a text in braces.
const places = (name) =>
  "nmk".includes(name) ? "([\\d.,]*\\d)" : "vw".includes(name) ? "([^\\s,]+(?:, [^\\s,]+)*)" : "(.+?)";

const DEEP = 4; // texts within texts

let whole = new Map(); // texts without a place for others
let patterns = []; // [{matches, names, into}], those with the most letters first
let kept = new Map();

export function speak(words) {
  whole = new Map(Object.entries(words));
  kept = new Map();
  patterns = [...whole]
    .filter(([text]) => /\{\w\}/.test(text))
    .sort(([a], [b]) => letters(b) - letters(a))
    .map(([text, into]) => ({
      matches: new RegExp(
        "^" +
          text
            .split(/\{(\w)\}/)
            .map((part, i) => (i % 2 === 1 ? places(part) : escaped(part)))
            .join("") +
          "$",
      ),
      names: [...text.matchAll(/\{(\w)\}/g)].map(([, name]) => name),
      into,
    }));
}

const letters = (text) => text.replace(/\{\w\}/g, "").length;
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export function inLanguage(text) {
  if (whole.size === 0 || typeof text !== "string") return text;
  const [, before, within, after] = /^(\s*)(.*?)(\s*)$/s.exec(text);
  return within ? before + translated(within, DEEP) + after : text;
}

function translated(text, depth) {
  const found = whole.get(text);
  if (found !== undefined) return found;
  if (depth === 0 || text.length > 1000 || !/\s|[^\x00-\x7f]/.test(text)) return text; // a name
  if (!kept.has(text)) kept.set(text, byPattern(text, depth));
  return kept.get(text);
}

function byPattern(text, depth) {
  for (const {matches, names, into} of patterns) {
    const found = matches.exec(text);
    if (!found) continue;
    const values = new Map(names.map((name, i) => [name, translated(found[i + 1], depth - 1)]));
    return into.replace(/\{(\w)\}/g, (_, name) => values.get(name));
  }
  return text;
}
