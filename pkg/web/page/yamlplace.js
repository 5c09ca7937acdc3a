// Where in a YAML text the cursor is, also while the text is broken in the middle of typing: by indentation, brackets
// and dashes alone.
//
//   placeAt(text, offset) → {path, kind, from, prefix, present} | undefined
//       path: keys, and "[]" for an item of a list, down to where the cursor is
//       kind: "key" where a key is being typed, or an item that may become one; "value" after a key, or in a list in
//       brackets
//       from, prefix: where the word at the cursor begins, and what of it is written, without quotes
//       present: Set of the other keys of the same mapping
//   undefined in comments and in block scalars.

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>'"%@`{[\],-][^#]*?|-[^\s][^#]*?)\s*:(?=\s|$)/;

const keyIn = (text) => KEY.exec(text.slice(0, 500)); // no key is longer, and a long text takes long to look through

export function placeAt(text, offset) {
  const scan = {open: [], flow: [], scalar: -1, maps: new Map()};
  let start = 0;
  for (;;) {
    const eol = text.indexOf("\n", start),
      last = eol < 0 || eol >= offset;
    const line = text.slice(start, last ? offset : eol).replace(/\r$/, "");
    if (scan.flow.length > 0 && isBelow(scan, line)) scan.flow = []; // somebody is still typing what is in there
    if (last) return found(scan, text, start, line, offset);
    if (/^(---|\.\.\.)(\s|$)/.test(line)) Object.assign(scan, {open: [], flow: [], scalar: -1});
    else readLine(scan, line, start);
    start = eol + 1;
  }
}

// isBelow tells of a line that is too far left, or a dash, to stand in the braces and brackets that are open.
function isBelow(scan, line) {
  const column = line.search(/\S/),
    owner = scan.open.findLast((one) => one.name !== "[]");
  return (
    column >= 0 &&
    owner !== undefined &&
    column <= owner.column &&
    (keyIn(line.slice(column)) || /^-\s/.test(line.slice(column)))
  );
}

// readLine takes one whole line into account. Open are the keys and dashes that the next line may belong to, each with
// its column; flow are the braces and brackets that are open.
function readLine(scan, line, start) {
  if (scan.flow.length > 0) return readFlow(scan, line, start);
  const indent = line.search(/\S/);
  if (indent < 0 || inScalar(scan, indent)) return undefined;
  scan.scalar = -1;
  let column = indent;
  for (let rest = line.slice(column); rest !== "" && !rest.startsWith("#"); rest = line.slice(column)) {
    const [dash] = /^-(\s+|$)/.exec(rest) ?? [],
      [key, name] = keyIn(rest) ?? [];
    close(scan, column, dash !== undefined);
    if (dash !== undefined) {
      scan.open.push({column, name: "[]"});
      column += dash.length;
    } else if (key !== undefined) {
      seen(scan, column, bare(name));
      scan.open.push({column, name: bare(name)});
      column += key.length + /^\s*([&!]\S*\s*)*/.exec(rest.slice(key.length))[0].length;
      if (/^[{[]/.test(line.slice(column))) return readFlow(scan, line.slice(column), start + column);
      if (/^[|>][-+0-9]*\s*(#.*)?$/.test(line.slice(column)))
        scan.scalar = scan.open.findLast((one) => one.name !== "[]")?.column ?? 0;
      scan.open.at(-1).valued = !/^(#|$)/.test(line.slice(column));
      return undefined;
    } else {
      if (/^[{[]/.test(rest)) readFlow(scan, rest, start + column);
      if (/^[|>][-+0-9]*\s*(#.*)?$/.test(rest)) scan.scalar = scan.open.at(-1)?.column ?? 0;
      return undefined;
    }
  }
}

const inScalar = (scan, indent) => scan.scalar >= 0 && indent > scan.scalar;

// close forgets what cannot hold something at the column: a dash may stand under the key that it belongs to, a key may
// not.
function close(scan, column, dash) {
  scan.open = scan.open.filter((one) => one.column < column || (dash && one.column === column && one.name !== "[]"));
}

// seen remembers the keys of each mapping, by what is open around it.
function seen(scan, column, name) {
  const parent = scan.open.at(-1) ?? scan;
  if (!scan.maps.has(parent)) scan.maps.set(parent, new Set());
  scan.maps.get(parent).add(name);
}

// readFlow goes through braces and brackets. Each that is open has the key that is open in it, its keys, and where its
// word began.
function readFlow(scan, line, start) {
  const {flow} = scan;
  for (let i = 0; i < line.length; i++) {
    const c = line[i],
      top = flow.at(-1);
    if (c === "#" && (i === 0 || /\s/.test(line[i - 1]))) return {comment: true};
    if ((c === '"' || c === "'") && (!top || top.word < 0)) {
      const end = endOfQuotes(line, i);
      if (top) Object.assign(top, {word: i + start, text: line.slice(i, end)});
      i = end - 1;
    } else if (c === "{" || c === "[") {
      flow.push({bracket: c, key: undefined, keys: new Set(), word: -1, text: ""});
    } else if (c === "}" || c === "]") {
      flow.pop();
      if (flow.length === 0) return undefined;
    } else if (c === ",") {
      Object.assign(top, {key: undefined, word: -1, text: ""});
    } else if (c === ":" && top.bracket === "{" && top.key === undefined && /^(\s|$|["'[{])/.test(line.slice(i + 1))) {
      const key = bare(top.text.trim());
      top.keys.add(key);
      Object.assign(top, {key, word: -1, text: ""});
    } else if (top.word >= 0 || /\S/.test(c)) {
      if (top.word < 0) top.word = i + start;
      top.text += c;
    }
  }
  return undefined;
}

function endOfQuotes(line, at) {
  for (let i = at + 1; i < line.length; i++) {
    if (line[i] === "\\" && line[at] === '"') i++;
    else if (line[i] === line[at]) return i + 1;
  }
  return line.length;
}

// found is the place at the end of the line, which ends at the cursor.
function found(scan, text, start, line, offset) {
  const indent = line.search(/\S/) < 0 ? line.length : line.search(/\S/);
  if (
    (scan.flow.length === 0 && inScalar(scan, indent)) ||
    /(^|\s)#/.test(line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, ""))
  )
    return undefined;
  const inFlow = scan.flow.length > 0;
  const [, dashes] = /^(\s*(?:-\s+)*)/.exec(line),
    rest = line.slice(dashes.length),
    key = inFlow ? null : keyIn(rest);
  const word = (from, raw, more) => ({
    from: /^["']/.test(raw) ? from + 1 : from,
    prefix: raw.replace(/^["']/, ""),
    ...more,
  });
  if (!inFlow && !key && !/^[{[]/.test(rest)) {
    if (/^-$/.test(rest)) return undefined;
    readLine(scan, dashes.trimEnd(), start);
    const before = (dashes.match(/-/g) ?? []).length > 0;
    if (!before) close(scan, dashes.length, false);
    const parent = scan.open.at(-1);
    if (parent?.valued) return undefined; // the text goes on
    const present = new Set([...(scan.maps.get(parent ?? scan) ?? []), ...keysBelow(text, offset, dashes.length)]);
    return word(start + dashes.length, rest, {path: scan.open.map((one) => one.name), kind: "key", present});
  }
  readLine(scan, line, start);
  const path = scan.open.map((one) => one.name),
    top = scan.flow.at(-1);
  if (!top) {
    const value = key && /^\s*/.exec(rest.slice(key[0].length))[0].length + key[0].length;
    return key && !/^[{[]/.test(rest.slice(value))
      ? word(Math.min(offset, start + dashes.length + value), rest.slice(value), {
          path,
          kind: "value",
          present: new Set(),
        })
      : undefined;
  }
  const inner = scan.flow.flatMap(({bracket, key}, i) => (bracket === "[" ? ["[]"] : key !== undefined ? [key] : []));
  const isKey = top.bracket === "{" && top.key === undefined;
  const present = isKey ? new Set([...top.keys, ...keysAfter(text, offset)]) : new Set();
  return word(top.word < 0 ? offset : top.word, top.text.trimStart(), {
    path: [...path, ...inner],
    kind: isKey ? "key" : "value",
    present,
  });
}

// keysBelow are the keys of the same mapping further down.
function keysBelow(text, offset, column) {
  const keys = [];
  for (const line of text.slice(offset).split("\n").slice(1)) {
    const indent = line.search(/\S/);
    if (indent < 0 || indent > column) continue;
    const key = indent === column && keyIn(line.slice(column));
    if (!key) break;
    keys.push(bare(key[1]));
  }
  return keys;
}

// keysAfter are the keys of the same mapping up to its closing brace.
function keysAfter(text, offset) {
  const keys = [];
  let depth = 0,
    word = "";
  for (const c of text.slice(offset, offset + 2000)) {
    if ("{[".includes(c)) depth++;
    if ("}]\n".includes(c) && depth-- === 0) break;
    if (depth > 0) continue;
    if (c === ",") word = "";
    else if (c === ":") keys.push(bare(word.trim()));
    else word += c;
  }
  return keys;
}

const bare = (word) => (/^(["']).*\1$/.test(word) ? word.slice(1, -1) : word);
