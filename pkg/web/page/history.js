// What the reader did to the input, to undo and to do again. An input is {main, files: {path: text}}, and never changes.
//
//   history(input) → {add, undo, redo, reset, can}
//       add(input, typed?) after a change; what is typed within a moment is one change
//       undo(), redo(), reset() → the input to show; can(what) → whether there is one
//       reset goes back to the first input, which can be undone, too

import {sameInput} from "./state.js";

const MOMENT = 1000; // milliseconds
const MOST = 200; // changes

export function history(first, now = () => performance.now()) {
  let past = [],
    future = [],
    present = first,
    typedAt = -Infinity;
  const put = (input) => {
    past = [...past.slice(1 - MOST), present];
    future = [];
    present = input;
  };
  const step = (from, to) => {
    to.push(present);
    typedAt = -Infinity;
    return (present = from.pop());
  };
  return {
    add(input, typed = false) {
      if (input === present) return;
      if (typed && now() - typedAt < MOMENT) {
        present = input;
        future = [];
      } else put(input);
      typedAt = typed ? now() : -Infinity;
    },
    undo: () => step(past, future),
    redo: () => step(future, past),
    reset() {
      put(first);
      typedAt = -Infinity;
      return present;
    },
    can: (what) => ({undo: past.length > 0, redo: future.length > 0, reset: !sameInput(present, first)})[what],
    first: () => first,
  };
}
