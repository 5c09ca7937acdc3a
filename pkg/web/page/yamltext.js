// Edits of YAML text that leave everything else as it is written: comments, indentation, quotes, flow and block style.
//
//   documents(text) → [Document]
//       the documents of a text, parsed; each has .problem, words for why it cannot be edited, or ""
//   plain(document) → value                       what a document says, as JSON would
//   get(value, path) → value | undefined          what a value has at a path of keys and indexes
//   put(text, n, path, value) → text
//       sets what document n has at the path; makes what is missing on the way
//   insert(text, n, path, value) → text           puts an item into a list before the index with which the path ends
//   remove(text, n, path) → text                  takes a field or an item away
//   isShared(document, path) → bool
//       whether what is at the path stands in an anchor that has aliases, or comes from one
//   same(a, b) → bool                             whether two plain values are equal
//
// Each edit is read again: if the text does not say exactly what was meant, the edit throws an Error in words, and
// nothing is changed.

import {
  Document,
  isAlias,
  isCollection,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  parseAllDocuments,
  stringify,
  visit,
} from "yaml";

// LARGE is how many characters of a text are neither read nor edited here, only passed on.
export const LARGE = 1_000_000;

// DEEPEST is how many brackets may stand in each other, and how many keys may be marked by "?". Kubernetes' objects
// have some ten and none; the parser takes hours for a thousand.
const DEEPEST = 64;

const kept = new Map();

export function documents(text) {
  if (text.length > LARGE) return [unread("it is too large to be changed here")];
  if (!kept.has(text)) {
    if (kept.size >= 64) kept.delete(kept.keys().next().value);
    kept.set(text, tooDeep(text) ? [unread("it is nested too deep to be changed here")] : parsed(text));
  }
  return kept.get(text);
}

const unread = (problem) => ({problem, errors: [], toJS: () => null});

function parsed(text) {
  // Unique keys would be compared each with each; the loader finds them, and words errors. Warnings would go to the
  // console.
  const all = [...parseAllDocuments(text, {uniqueKeys: false, prettyErrors: false, logLevel: "error"})];
  return all.map((document) => Object.assign(document, {problem: problemOf(document, text)}));
}

function tooDeep(text) {
  let depth = 0,
    keys = 0,
    scalar = false;
  for (const token of new Lexer().lex(text)) {
    if (scalar) scalar = false;
    else if (token === "\x1f")
      scalar = true; // the next one is its text
    else if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth = Math.max(0, depth - 1);
    else if (token === "?") keys++;
    if (depth > DEEPEST || keys > DEEPEST) return true;
  }
  return false;
}

function problemOf(document, text) {
  let problem = "";
  document.aliased = new Set();
  visit(document, (key, node) => {
    if (isAlias(node)) document.aliased.add(node.source);
    if (isPair(node) && isCollection(node.key)) problem = "it is a template, not YAML: give what helm template prints";
  });
  if (document.errors.length > 0)
    return text.includes("{{") ? "it is a template, not YAML: give what helm template prints" : "it is not valid YAML";
  return problem;
}

const values = new WeakMap();

export function plain(document) {
  if (!values.has(document)) values.set(document, valueOf(document));
  return values.get(document);
}

function valueOf(document) {
  try {
    return document.toJS() ?? null;
  } catch {
    return null; // an alias without its anchor, or too many of them
  }
}

export function isShared(document, path) {
  const anchored = (node) => Boolean(node?.anchor) && document.aliased.has(node.anchor);
  let node = document.contents;
  for (const key of path) {
    if (isAlias(node) || anchored(node)) return true;
    if (!isCollection(node)) return false;
    node = node.get(key, true);
  }
  let shared = false;
  if (node) visit(node, (_, within) => void (shared ||= anchored(within)));
  return shared;
}

export const get = (value, path) => path.reduce((within, key) => within?.[key], value);

export const put = (text, n, path, value) =>
  edited(
    text,
    n,
    path,
    (model, key) => {
      model[key] = value;
    },
    (root) => {
      const {holder, key, value: wanted} = place(root, path, value);
      const old = holder.get(key, true);
      if (!holder.has(key))
        return isSeq(holder) ? intoList(text, holder, key, wanted) : intoMap(text, holder, key, wanted);
      if (isScalar(old) && old.range[1] > old.range[0] && !isObject(wanted))
        return splice(text, old.range[0], old.range[1], render(wanted));
      if (isSeq(holder))
        return splice(text, old.range[0], endOf(text, old), render(wanted, holder.flow, columnOf(text, old.range[0])));
      const pair = holder.items.find((item) => String(item.key) === String(key)),
        from = pair.key.range[0];
      const to = old
        ? Math.max(endOf(text, old), text.indexOf(":", pair.key.range[1]) + 1)
        : text.indexOf(":", pair.key.range[1]) + 1;
      return splice(text, from, to, field(key, wanted, holder.flow, columnOf(text, from)));
    },
  );

export const insert = (text, n, path, value) =>
  edited(
    text,
    n,
    path,
    (model, key) => {
      model.splice(key, 0, value);
    },
    (root) => {
      const {holder, key} = place(root, path, value);
      return intoList(text, holder, key, value);
    },
  );

export function remove(text, n, path) {
  const holder = path.length > 1 && get(plain(documents(text)[n]), path.slice(0, -1));
  if (holder && Object.keys(holder).length === 1)
    return put(text, n, path.slice(0, -1), Array.isArray(holder) ? [] : {});
  return edited(
    text,
    n,
    path,
    (model, key) => {
      Array.isArray(model) ? model.splice(key, 1) : delete model[key];
    },
    (root) => {
      const {holder, key} = place(root, path);
      return without(
        text,
        holder,
        isSeq(holder) ? key : holder.items.findIndex((item) => String(item.key) === String(key)),
      );
    },
  );
}

// edited makes the edit, and sees whether the text then says what the model says.
function edited(text, n, path, change, edit) {
  const want = documents(text).map((document) => JSON.parse(JSON.stringify(plain(document))));
  let model = want[n];
  path.slice(0, -1).forEach((key, i) => {
    model = model[key] ??= typeof path[i + 1] === "number" ? [] : {};
  });
  change(model, path.at(-1));
  const after = edit(documents(text)[n].contents);
  const got = documents(after);
  if (got.some((document) => document.errors.length > 0) || !same(got.map(plain), want)) {
    throw new Error(
      `the text is written in a way in which ${path.join(".")} cannot be changed without changing more; change it ` +
        "by hand",
    );
  }
  return after;
}

// place is the innermost collection on the path that is there, the key to set in it, and the value to set, with what is
// missing around it.
function place(root, path, value) {
  let holder = root,
    i = 0;
  while (i < path.length - 1 && isCollection(holder.get(path[i], true)) && holder.get(path[i], true).items.length > 0)
    holder = holder.get(path[i++], true);
  return {
    holder,
    key: path[i],
    value: path.slice(i + 1).reduceRight((inner, key) => (typeof key === "number" ? [inner] : {[key]: inner}), value),
  };
}

function intoMap(text, map, key, value) {
  if (map.flow || map.items.length === 0) {
    const at = map.range[0] + 1 + /^ */.exec(text.slice(map.range[0] + 1))[0].length;
    return splice(text, at, at, field(key, value, true) + (map.items.length > 0 ? ", " : ""));
  }
  return before(text, map.items[0].key.range[0], (column) => field(key, value, false, column));
}

function intoList(text, list, at, value) {
  const end = list.items.length > 0 && endOf(text, list.items.at(-1));
  if (list.flow) {
    if (list.items.length === 0) return splice(text, list.range[0] + 1, list.range[0] + 1, render(value, true));
    return at >= list.items.length
      ? splice(text, end, end, ", " + render(value, true))
      : splice(text, list.items[at].range[0], list.items[at].range[0], render(value, true) + ", ");
  }
  const item = (column) => "- " + render(value, false, column + 2);
  if (at < list.items.length) return before(text, dashOf(text, list.items[at]), item);
  const column = columnOf(text, dashOf(text, list.items[0])),
    eol = endOfLine(text, end);
  return splice(text, eol, eol, (text[eol] === "\r" ? "\r\n" : "\n") + " ".repeat(column) + item(column));
}

// before puts lines before what begins at a place, and before the comment above it. What begins after a dash stays
// behind that dash.
function before(text, at, lines) {
  const column = columnOf(text, at),
    start = at - column;
  if (text.slice(start, at).trim() !== "") return splice(text, at, at, lines(column) + "\n" + " ".repeat(column));
  let top = start;
  for (let line = start; line > 0;) {
    line = text.lastIndexOf("\n", line - 2) + 1;
    if (!/^[ \t]*#/.test(text.slice(line))) break;
    top = line;
  }
  return splice(text, top, top, " ".repeat(column) + lines(column) + "\n");
}

// without takes an item out of a collection that keeps others.
function without(text, holder, at) {
  const startOf = (item) => (isPair(item) ? keyOf(item) : item).range[0];
  const {items} = holder,
    end = endOf(text, items[at]);
  const start = isSeq(holder) && !holder.flow ? dashOf(text, items[at]) : startOf(items[at]);
  if (holder.flow)
    return at + 1 < items.length
      ? splice(text, start, startOf(items[at + 1]), "")
      : splice(text, endOf(text, items[at - 1]), end, "");
  const line = start - columnOf(text, start);
  if (text.slice(line, start).trim() !== "")
    return splice(text, start, isSeq(holder) ? dashOf(text, items[at + 1]) : startOf(items[at + 1]), "");
  const eol = endOfLine(text, end);
  return eol < text.length ? splice(text, line, eol + 1, "") : splice(text, Math.max(0, line - 1), eol, "");
}

// render writes a value that begins at a column: what is short stands in braces.
function render(value, flow = false, column = 0) {
  // Which quotes "yes", since other readers take it for true.
  const document = new Document(value, {version: "1.1", aliasDuplicateObjects: false});
  const brief = (node) => !/\[\{/.test(inBraces(node)) && inBraces(node).length <= 60;
  visit(document, {
    Collection: (key, node, path) => {
      if (flow || (path.length > 1 && brief(node.toJS(document)))) node.flow = true;
    },
  });
  return document
    .toString({lineWidth: 0, indentSeq: false, flowCollectionPadding: false, directives: false})
    .replace(/^%.*\n---\n?/, "")
    .trimEnd()
    .replace(/\n/g, "\n" + " ".repeat(column));
}

const inBraces = (value) => stringify(value, {collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false});

const field = (key, value, flow, column) =>
  flow ? render({[key]: value}, true).slice(1, -1) : render({[key]: value}, false, column);

// endOf is where what is written of a node, or of a pair, ends.
function endOf(text, item) {
  const node = isPair(item) ? (item.value ?? item.key) : item;
  let end = node.range[1];
  while (end > node.range[0] && /\s/.test(text[end - 1])) end--;
  return isPair(item) && end <= keyOf(item).range[1] ? text.indexOf(":", keyOf(item).range[1]) + 1 : end;
}

// keyOf is the key of a parsed pair, which has its place in the text.
const keyOf = (pair) => pair.key;

const dashOf = (text, item) => text.lastIndexOf("-", item.range[0] - 1);
const columnOf = (text, at) => at - (text.lastIndexOf("\n", at - 1) + 1);
const splice = (text, from, to, by) => text.slice(0, from) + by + text.slice(to);
const isObject = (value) => typeof value === "object" && value !== null;

function endOfLine(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end - (text[end - 1] === "\r" ? 1 : 0);
}

export function same(a, b) {
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => same(a[key], b[key]))
  );
}
