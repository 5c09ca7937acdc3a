// The address is the state: the scenario, the step and what failed there. A link opens the same again.

import {domainOf, nodesOf, steps} from "#shared/data.js";
import {view} from "#shared/view.js";
import {decode, encode, isState} from "./link.js";
import {isChanged, state} from "./state.js";

const PAUSE = 400; // after the last change, in milliseconds

let timer,
  last = "",
  newest = 0; // counts the links: one that took longer to encode does not replace a newer one

// linkNow is the link to what is on the page, with its address set to it; it throws where that is too long.
export async function linkNow() {
  clearTimeout(timer);
  const mine = ++newest;
  const fragment = await encode({
    version: state.version,
    ...(state.example && !isChanged() ? {} : state.input),
    view: {step: steps[view.step]?.name, failed: view.failed ?? undefined, example: state.example || undefined},
  });
  if (mine === newest) {
    last = fragment;
    history.replaceState(null, "", fragment);
  }
  return new URL(fragment, location.href).href;
}

// linkOfLesson is the link for a class to what is on the page: it opens as a lesson, at its first step.
export const linkOfLesson = async () =>
  new URL(await encode({version: state.version, ...state.input, view: {}}), location.href).href;

// remember sets the address once nothing changes for a moment. A scenario that is too large for a link has none.
export function remember() {
  clearTimeout(timer);
  timer = setTimeout(
    () => linkNow().catch(() => history.replaceState(null, "", location.pathname + location.search)),
    PAUSE,
  );
}

// stay keeps the address as it is: nothing of what changed before is written there any more.
export function stay() {
  clearTimeout(timer);
  newest++;
}

// recall is what the address holds: {input, example, view, note}, without input where the example is meant as it is;
// {home} for the opening page, {note} where it cannot be read, undefined where it holds nothing.
export async function recall() {
  last = location.hash;
  const found = await decode(location.hash);
  if (!found) return undefined;
  if (found.home) return found;
  if (found.error) return {note: `Nothing was opened: ${found.error}.`};
  const {step, failed, example} = found.view;
  return {
    input: found.files && {main: found.main, files: found.files},
    example: typeof example === "string" ? example : "",
    view: {step: typeof step === "string" ? step : undefined, failed: isFailure(failed) ? failed : null},
    note:
      !found.files || found.version === state.version
        ? ""
        : `This link was made with Faultline ${found.version}; this is ${state.version}, whose answer may differ.`,
  };
}

const isFailure = (failed) =>
  typeof failed?.key === "string" &&
  Array.isArray(failed.domains) &&
  failed.domains.length > 0 &&
  failed.domains.every((domain) => typeof domain === "string");

// follow calls open when the reader changes the address.
export const follow = (open) =>
  addEventListener("hashchange", () => {
    if (location.hash !== last && isState(location.hash)) open();
  });

// stillThere is what of a failure the step in view can have.
export function stillThere(failed, step) {
  if (!failed) return null;
  const domains = failed.domains.filter((domain) =>
    nodesOf[step].some((node) => domainOf(node, failed.key) === domain),
  );
  return domains.length > 0 ? {key: failed.key, domains} : null;
}
