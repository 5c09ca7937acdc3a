// The engine that answers: a server, or a worker with the engine in it.
//
//   connect({progress, waiting}) → call
//       waiting gets the words for what waits in the line of a server, "" when nothing waits any more
//   call(method, request, signal) → response
//       throws Refused where the engine does not answer, and AbortError where nobody waits any more

const LARGE = 1 << 16; // characters of a file that is sent once
const PATIENCE = 1000; // how long a worker may take to stop what nobody waits for, in milliseconds
const RETRY = 5; // seconds until what was refused for now is asked again, unless the server names another time

export class Refused extends Error {
  constructor({kind, message}) {
    super(message);
    this.kind = kind;
  }
}

const canceled = () => new DOMException("nobody waits any more", "AbortError");

export function connect({progress, waiting}) {
  const kind = document.querySelector('meta[name="engine"]').getAttribute("content");
  const ask = kind === "worker" ? askWorker(progress) : askServer(waiting);
  const ids = new Map(); // of large files, by their texts: the engine has them already
  const answered = async (method, request, signal) => {
    const response = await ask(method, request, signal);
    if (signal?.aborted || response.error?.kind === "canceled") throw canceled();
    if (response.error) throw new Refused(response.error);
    return response;
  };
  const keepOf = async (text) => {
    if (!ids.has(text)) ids.set(text, (await answered("keep", {text})).id);
    return ids.get(text);
  };
  const slim = async ({main, files}) => {
    const small = {main, files: {}, kept: {}};
    for (const [file, text] of Object.entries(files))
      if (text.length < LARGE) small.files[file] = text;
      else small.kept[file] = await keepOf(text);
    return small;
  };
  return async (method, request, signal) => {
    if (request.input) {
      try {
        return await answered(method, {...request, input: await slim(request.input)}, signal);
      } catch (error) {
        if (error.kind !== "missing") throw error;
        ids.clear(); // the engine has begun anew
        return answered(method, {...request, input: await slim(request.input)}, signal);
      }
    }
    const response = await answered(method, request, signal);
    for (const [file, id] of Object.entries(response.kept ?? {})) ids.set(response.input.files[file], id);
    return response;
  };
}

// askServer asks a server. What has to wait there has a place in its line, and what the server refuses for now is asked again.
function askServer(waiting) {
  const waits = new Map(); // words for each request that waits
  const tell = (one, words) => {
    if (words) waits.set(one, words);
    else if (!waits.delete(one)) return;
    waiting([...waits.values()].at(-1) ?? "");
  };
  return async (method, request, signal) => {
    const one = {};
    try {
      for (;;) {
        const {answer, retry} = await askOnce(method, request, signal, (place) => tell(one, inLine(place)));
        if (answer.error?.kind !== "busy") return answer;
        const seconds = Math.ceil(retry * (1 + Math.random())); // not all pages at the same time
        tell(one, `${answer.error.message} The page asks again in ${seconds} s.`.replace("; try again", "."));
        await pause(seconds * 1000, signal);
      }
    } finally {
      tell(one, "");
    }
  };
}

async function askOnce(method, request, signal, placed) {
  let text = "",
    answer;
  try {
    answer = await fetch("api/" + method, {
      method: "POST",
      headers: {"Content-Type": "application/json", Accept: "application/x-ndjson"},
      body: JSON.stringify(request),
      signal,
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      text += value;
      for (let place; (place = /^\{"place":(\d+)\}\n/.exec(text)); text = text.slice(place[0].length))
        placed(Number(place[1]));
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({kind: "internal", message: "the server does not answer; is simulate serve still running?"});
  }
  return {answer: responseOf(answer, text), retry: Number(answer.headers.get("Retry-After")) || RETRY};
}

// responseOf is the response in the text of an answer; a proxy before the server may answer with something else.
function responseOf({status}, text) {
  try {
    return JSON.parse(text);
  } catch {
    const busy = [429, 502, 503, 504].includes(status);
    return {
      error: {kind: busy ? "busy" : "internal", message: `the server answers with the status ${status}; try again`},
    };
  }
}

// inLine are the words for a place in the line; "" for a request that has its turn.
export function inLine(place) {
  const ending = [11, 12, 13].includes(place % 100) ? "th" : (["th", "st", "nd", "rd"][place % 10] ?? "th");
  return place > 0 ? `${place}${ending} in line: the engine answers others first.` : "";
}

const pause = (time, signal) =>
  new Promise((go, stop) => {
    const timer = setTimeout(go, time);
    signal?.addEventListener("abort", () => (clearTimeout(timer), stop(canceled())), {once: true});
  });

// askWorker keeps one worker, and starts another where one goes on with what nobody waits for. It is asked one thing at
// a time: what is asked meanwhile waits here, where it can still be taken back.
function askWorker(progress) {
  let worker, module, ready, asked;
  const waiting = [];
  const start = () => {
    ready = false;
    worker = new Worker("worker.js");
    worker.onmessage = ({data}) => {
      if (data.progress) return progress(data.progress);
      if (data.module) return (module = data.module);
      if (data.broken) return fail(data.broken);
      if (data.ready) progress({});
      else asked.answer(JSON.parse(data.response));
      ready = true;
      next();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      fail(event.message || "the engine could not be loaded");
    };
    worker.postMessage({start: module});
  };
  const stop = () => {
    worker?.terminate();
    worker = asked = undefined;
  };
  const fail = (message) => {
    progress({});
    for (const one of [asked, ...waiting.splice(0)]) one?.answer({error: {kind: "internal", message}});
    stop();
  };
  const next = () => {
    asked = waiting.shift();
    if (!asked) return;
    ready = false;
    worker.postMessage({method: asked.method, request: JSON.stringify(asked.request)});
  };
  const giveUp = (one) => {
    if (waiting.includes(one)) waiting.splice(waiting.indexOf(one), 1);
    one.answer({error: {kind: "canceled"}});
    setTimeout(() => {
      if (asked !== one) return;
      stop();
      start();
    }, PATIENCE);
  };
  return (method, request, signal) =>
    new Promise((answer) => {
      if (signal?.aborted) return answer({error: {kind: "canceled"}});
      const one = {method, request, answer};
      signal?.addEventListener("abort", () => giveUp(one), {once: true});
      waiting.push(one);
      if (!worker) start();
      else if (ready && !asked) next();
    });
}
