// A little of Markdown, as elements: headings, lists, paragraphs, **strong**, *emphasis* and `code`. All else is text: no
// markup of the file's own reaches the page, and no links or pictures are made.

import { make } from "./elements.js";

const HEADING = /^(#{1,3})\s+(.+?)\s*#*$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d{1,3}[.)]\s+(.*)$/;
const INLINE = /\*\*(?<strong>[^*]+)\*\*|(?<![\w*])[*_](?<em>[^*_\s](?:[^*_]*[^*_\s])?)[*_](?![\w*])|`(?<code>[^`]+)`/g;

/** The elements of a text; where it is no Markdown, its paragraphs as they are. */
export function formatted(text, markdown) {
  const blocks = text.replaceAll("\r\n", "\n").split(/\n\s*\n/).filter((block) => block.trim());
  return blocks.flatMap((block) => (markdown ? elements(block.split("\n")) : [make("p", { class: "as-is" }, block.trimEnd())]));
}

/** Lines of one block: a heading ends where its line does, a list item goes on until the next one. */
function elements(lines) {
  const made = [];
  let open = null; // {tag, parts}: a paragraph or a list that the next line may go on with
  const close = () => {
    if (open?.tag === "p") made.push(make("p", {}, inline(open.parts.join(" "))));
    else if (open) made.push(make(open.tag, {}, ...open.parts.map((part) => make("li", {}, inline(part)))));
    open = null;
  };
  for (const line of lines) {
    const heading = HEADING.exec(line);
    const item = BULLET.exec(line) ?? NUMBER.exec(line);
    if (heading) {
      close();
      made.push(make(`h${heading[1].length + 2}`, {}, inline(heading[2])));
    } else if (item) {
      const tag = BULLET.test(line) ? "ul" : "ol";
      if (open?.tag !== tag) close();
      open ??= { tag, parts: [] };
      open.parts.push(item[1]);
    } else if (open && open.tag !== "p") {
      open.parts.push(`${open.parts.pop()} ${line.trim()}`);
    } else {
      open ??= { tag: "p", parts: [] };
      open.parts.push(line.trim());
    }
  }
  close();
  return made;
}

function inline(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [tag, words] = Object.entries(found.groups).find(([, words]) => words !== undefined);
    parts.push(text.slice(at, found.index), make(tag, {}, words));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}
