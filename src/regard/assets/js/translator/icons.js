// Icons: line drawings of 24 by 24 units, hidden from screen readers.

import { s } from "regard/dom.js";

const PATHS = {
  swap: "M7 4 3.5 7.5 7 11M3.5 7.5h17M17 13l3.5 3.5L17 20M20.5 16.5h-17",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5 10 17.5 19.5 7",
  close: "M6 6l12 12M18 6 6 18",
  plus: "M12 5v14M5 12h14",
  book: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  keys: "M3 7h18v11H3zM7 11h.01M10.5 11h.01M14 11h.01M17.5 11h.01M8 14.5h8",
  file: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  note: "M12 3.5 21.5 20h-19zM12 10v4.5M12 17.3h.01",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, s("path", { d: PATHS[name] }));
}
