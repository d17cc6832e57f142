// The results, looked at again every half minute. A page with the focus in it stays as it is.

import { drawFigure } from "./figure.js";

const EVERY = 30_000; // milliseconds
const main = (page) => page.querySelector("main");

let shown = main(document).innerHTML; // as the server sent it
drawFigure();
setInterval(refresh, EVERY);

async function refresh() {
  if (document.hidden) return;
  const latest = await fetched();
  if (!latest || latest.innerHTML === shown || main(document).contains(document.activeElement)) return;
  shown = latest.innerHTML;
  main(document).replaceWith(latest);
  drawFigure();
}

async function fetched() {
  try {
    const response = await fetch(location.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.ok ? main(page) : null;
  } catch {
    return null; // the server is gone: what is shown stays
  }
}
