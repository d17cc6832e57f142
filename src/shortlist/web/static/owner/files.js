// Labels out and in.

import { ApiError } from "../shared/api.js";
import { byId, make } from "../shared/elements.js";
import { Misfit, onSubmit } from "../shared/forms.js";
import { tell } from "../shared/messages.js";
import { plural } from "../shared/words.js";

const LARGEST = 256 << 20; // bytes, as the server has it

// ---- out ----

const choices = byId("export-form");
choices.addEventListener("change", pointLinks);
pointLinks();

function pointLinks() {
  const what = new FormData(choices).get("what");
  for (const link of document.querySelectorAll("a[data-format]")) {
    const asked = new URLSearchParams({ format: link.dataset.format });
    if (what !== "labels") asked.set(what, "true");
    link.href = `/api/export?${asked}`;
  }
}

// ---- in ----

const form = byId("import-form");
const chosen = form.elements.file;
const place = byId("import-message");

chosen.addEventListener("change", () => byId("import-result").replaceChildren());

onSubmit(form, place, async () => {
  byId("import-result").replaceChildren();
  const [file] = chosen.files;
  if (!file) throw new Misfit("file", "Choose a file first");
  if (file.size > LARGEST) throw new Misfit("file", `${file.name} is larger than ${LARGEST >> 20} MB; split it`);
  tell(place, `Importing ${file.name}…`);
  const done = await sendFile(file);
  tell(place, `${file.name} has been read.`);
  byId("import-result").replaceChildren(...outcome(done).map((line) => make("li", {}, line)));
  form.reset();
});

async function sendFile(file) {
  const asked = new URLSearchParams({ format: form.elements.format.value || formatOf(file.name) });
  for (const name of ["overwrite", "skip_unknown"]) if (form.elements[name].checked) asked.set(name, "true");
  let response;
  try {
    response = await fetch(`/api/import?${asked}`, {
      method: "POST",
      headers: {
        Accept: "application/json",
        "Content-Type": "application/octet-stream",
        "X-CSRF-Token": document.querySelector('meta[name="csrf"]').content,
      },
      body: file,
    });
  } catch {
    throw new ApiError("the file could not be sent: it has changed, or the server cannot be reached", 0);
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(content.error ?? `the server said ${response.status}`, response.status);
  return content;
}

// The longest ending that fits: the page lists every format with its own.
function formatOf(name) {
  const fitting = [...form.elements.format.options].filter(({ dataset: { ending } }) => ending && name.toLowerCase().endsWith(ending));
  if (!fitting.length) throw new Misfit("format", `${name} does not say by its ending what it is; choose the format`);
  return fitting.reduce((best, other) => (other.dataset.ending.length > best.dataset.ending.length ? other : best)).value;
}

const OUTCOMES = {
  written: (n) => `${plural(n, "item")} got a label from the file.`,
  same: (n) => `${plural(n, "item")} had that label already.`,
  kept: (n) => `${plural(n, "item")} ${n === 1 ? "keeps" : "keep"} what people have said.`,
  unknown: (n) => `${plural(n, "row")} left out: no such item or class here.`,
};

function outcome(done) {
  const lines = Object.entries(OUTCOMES).filter(([name]) => done?.[name]).map(([name, words]) => words(done[name]));
  return lines.length ? [...lines, ...(done.refused ?? [])] : ["There was no label in it."];
}
