// Signing in. After some wrong tries the server asks for patience: the button then counts the seconds.

import { ApiError } from "./api.js";
import { byId } from "./elements.js";
import { Misfit, onSubmit, required } from "./forms.js";
import { hush } from "./messages.js";

const form = byId("sign-in-form");
const place = byId("message");

if (form) {
  onSubmit(form, place, async (fields) => {
    const name = required(fields, "name", "Type your name");
    if (!fields.password) throw new Misfit("password", "Type your password");
    await signIn(name, fields.password);
    location.assign("/");
  });
}

async function signIn(name, password) {
  let response;
  try {
    response = await fetch("/api/sign-in", {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: JSON.stringify({ name, password }),
    });
  } catch {
    throw new ApiError("the server cannot be reached; try again in a moment", 0);
  }
  if (response.ok) return;
  const said = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("Retry-After")) || 0;
  if (wait) countDown(wait);
  const words = (said.error ?? `the server said ${response.status}`).replace(/^sign in: /, "");
  throw response.status === 401 ? new Misfit("password", words) : new ApiError(words, response.status);
}

function countDown(seconds) {
  const sender = form.querySelector("[type=submit]");
  const words = byId("sign-in-words");
  const end = performance.now() + 1000 * seconds;
  form.dataset.waiting = "true";
  sender.disabled = true;
  const tick = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    words.textContent = left > 0 ? `Try again in ${left} s` : "Sign in";
    if (left > 0) return;
    clearInterval(timer);
    delete form.dataset.waiting;
    sender.disabled = false;
    hush(place);
  };
  const timer = setInterval(tick, 250);
  tick();
}
