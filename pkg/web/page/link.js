// A link holds the state of the page in its fragment: #v=VERSION&s=BASE64URL(deflate-raw(JSON of {main, files, view})).
//
//   encode({version, main, files, view}) → Promise<fragment>
//       beginning with #; throws an Error in words where it would be too large
//   decode(fragment) → Promise<{version, main, files, view} | {error}>
//       the same again, or in words why not; undefined where the fragment holds no state at all
//   LARGEST = 2 MB is how much a state may be, unpacked

export const LARGEST = 2_000_000;

export async function encode({version, main, files, view = {}}) {
  const least = Object.values(files).reduce((sum, text) => sum + text.length, 0);
  if (least > LARGEST) throw tooLarge(least);
  const state = new TextEncoder().encode(JSON.stringify({main, files, view}));
  if (state.length > LARGEST) throw tooLarge(state.length);
  const {bytes} = await through(new CompressionStream("deflate-raw"), state, Infinity);
  return `#v=${encodeURIComponent(version)}&s=${toBase64(bytes)}`;
}

const tooLarge = (size) =>
  new Error(
    `the scenario has ${megabytes(size)}, and a link holds ${megabytes(LARGEST)} at most: pass on its files instead`,
  );

export async function decode(fragment) {
  const given = new Map(
    fragment
      .replace(/^#/, "")
      .split("&")
      .map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
  );
  if (!given.has("s")) return undefined;
  if (given.get("s").length > 2 * LARGEST)
    return {error: `this link is too large: ${megabytes(LARGEST)} at most are read`};
  try {
    const {bytes, more} = await through(new DecompressionStream("deflate-raw"), fromBase64(given.get("s")), LARGEST);
    if (more) return {error: `this link holds more than ${megabytes(LARGEST)}, which is not read`};
    const {main, files, view = {}} = JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
    const texts =
      isMap(files) && Object.values(files).every((text) => typeof text === "string") && Object.hasOwn(files, main);
    if (!texts || !isMap(view)) return {error: "this link holds no scenario"};
    return {version: decodeURIComponent(given.get("v") ?? ""), main, files, view};
  } catch {
    return {error: "this link is damaged: a part of it is missing or changed; copy all of it"};
  }
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
