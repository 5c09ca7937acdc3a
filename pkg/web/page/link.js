// A link holds the state of the page in its fragment. What is part of the program goes by its name, and only a scenario
// that somebody wrote or changed by its text: #lesson=3-weights&step=near&fail=LEVEL:DOMAIN,DOMAIN, #example=NAME&…, or
// with &v=VERSION&s=BASE64URL(deflate-raw(JSON of {main, files})).
//
//   encode({version, main, files, view}) → Promise<fragment>
//       view is {example, step, failed: {key, domains}}, each of which may be missing; without files the example is
//       meant as it is; throws an Error in words where the fragment would be too large
//   decode(fragment) → Promise<{version, main, files, view} | {view} | {home} | {error}>
//       the same again, or in words why not; undefined where the fragment holds no state at all
//   LARGEST = 2 MB is how much a state may be, unpacked

export const LARGEST = 2_000_000;

const LESSON = "lessons/";

// HOME is the fragment of the opening page, and GIVEN that of the scenario that the page came with.
export const HOME = "#lessons",
  GIVEN = "#given";

// isState tells a fragment that decode reads from one of a place on the page.
export const isState = (fragment) => fragment.includes("=") || ["", HOME, GIVEN].includes(fragment);

// fragmentOf is the link to an example as it came.
export const fragmentOf = (example) =>
  "#" + (example.startsWith(LESSON) ? `lesson=${safe(example.slice(LESSON.length))}` : `example=${safe(example)}`);

/**
 * @param {{version?: string, main?: string, files?: Record<string, string>, view?: {example?: string, step?: string,
 *   failed?: {key: string, domains: string[]}}}} state
 */
export async function encode({version, main, files, view: {example, step, failed} = {}}) {
  const parts = [
    example && fragmentOf(example).slice(1),
    step && `step=${safe(step)}`,
    failed && `fail=${[failed.key, ...failed.domains].map(safe).join(",")}`,
  ];
  if (files) {
    const least = Object.values(files).reduce((sum, text) => sum + text.length, 0);
    if (least > LARGEST) throw tooLarge(least);
    const state = new TextEncoder().encode(JSON.stringify({main, files}));
    if (state.length > LARGEST) throw tooLarge(state.length);
    const {bytes} = await through(new CompressionStream("deflate-raw"), state, Infinity);
    parts.push(`v=${safe(version)}`, `s=${toBase64(bytes)}`);
  }
  return "#" + parts.filter(Boolean).join("&");
}

// safe escapes all but what reads well in an address and has no meaning in it here.
const safe = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%3A", ":");

const tooLarge = (size) =>
  new Error(
    `the scenario has ${megabytes(size)}, and a link holds ${megabytes(LARGEST)} at most: pass on its files instead`,
  );

export async function decode(fragment) {
  if (fragment === HOME) return {home: true};
  const given = new Map(
    fragment
      .replace(/^#/, "")
      .split("&")
      .map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
  );
  let view;
  try {
    view = viewOf(given);
  } catch {
    return {error: DAMAGED};
  }
  if (!given.has("s")) return view.example ? {view} : undefined;
  if (given.get("s").length > 2 * LARGEST)
    return {error: `this link is too large: ${megabytes(LARGEST)} at most are read`};
  try {
    const {bytes, more} = await through(new DecompressionStream("deflate-raw"), fromBase64(given.get("s")), LARGEST);
    if (more) return {error: `this link holds more than ${megabytes(LARGEST)}, which is not read`};
    const {main, files, view: within = {}} = JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
    const texts =
      isMap(files) && Object.values(files).every((text) => typeof text === "string") && Object.hasOwn(files, main);
    if (!texts || !isMap(within)) return {error: "this link holds no scenario"};
    return {version: decodeURIComponent(given.get("v") ?? ""), main, files, view: {...within, ...view}};
  } catch {
    return {error: DAMAGED};
  }
}

const DAMAGED = "this link is damaged: a part of it is missing or changed; copy all of it";

function viewOf(given) {
  const text = (name) => decodeURIComponent(given.get(name));
  const [key, ...domains] = given.has("fail") ? given.get("fail").split(",").map(decodeURIComponent) : [];
  return {
    ...(given.has("lesson") && {example: LESSON + text("lesson")}),
    ...(given.has("example") && {example: text("example")}),
    ...(given.has("step") && {step: text("step")}),
    ...(domains.length > 0 && {failed: {key, domains}}),
  };
}

const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes % 1e6 ? 2 : 0)} MB`;

// through sends bytes through a stream and gives what comes out of it, up to a limit; more says that there was more.
async function through(stream, bytes, limit) {
  const sent = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let length = 0;
  for (let next = await sent.read(); !next.done; next = await sent.read()) {
    length += next.value.length;
    if (length > limit) {
      sent.cancel().catch(() => {}); // what is damaged further on matters no more
      return {more: true};
    }
    chunks.push(next.value);
  }
  return {bytes: new Uint8Array(await new Blob(chunks).arrayBuffer())};
}

function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const fromBase64 = (text) => {
  if (!/^[\w-]+$/.test(text)) throw new Error("not base64url");
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
};
