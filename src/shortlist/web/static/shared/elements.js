// Elements without markup: what is put into them is always text or another element.

const SVG = "http://www.w3.org/2000/svg";

/** make("p", {class: "hint"}, "words", child): a field that is a function listens, one that is null is left out. */
export const make = (tag, fields = {}, ...inside) => filled(document.createElement(tag), fields, inside);
export const draw = (tag, fields = {}, ...inside) => filled(document.createElementNS(SVG, tag), fields, inside);

function filled(made, fields, inside) {
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.flat().filter((part) => part !== null && part !== undefined && part !== ""));
  return made;
}

export const button = (words, act, name = "button", fields = {}) =>
  make("button", { type: "button", class: name, click: act, ...fields }, words);

export const byId = (id) => document.getElementById(id);
