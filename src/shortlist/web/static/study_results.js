// The results, looked at again every half minute. Nothing moves under somebody who has the focus in them.

const EVERY = 30_000; // milliseconds

setInterval(refresh, EVERY);

async function refresh() {
  if (document.hidden) return;
  const shown = document.querySelector("main");
  const found = await latest();
  if (found && found.innerHTML !== shown.innerHTML && !shown.contains(document.activeElement)) shown.replaceWith(found);
}

async function latest() {
  try {
    const response = await fetch(location.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.ok ? page.querySelector("main") : null;
  } catch {
    return null; // the server is gone: what is shown stays
  }
}
