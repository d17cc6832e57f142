// The doors: signing in, and joining by an invitation. After some wrong tries to sign in the server asks for patience:
// the button then counts the seconds.

import { call } from "./api.js";
import { byId } from "./elements.js";
import { checkedPassword, Misfit, onSubmit, required } from "./forms.js";
import { hush } from "./messages.js";
import { showTimes } from "./times.js";

const form = byId("sign-in-form");
const place = byId("message");

// ---- signing in ----

if (form) {
  onSubmit(form, place, async (fields) => {
    const name = required(fields, "name", "Type your name");
    if (!fields.password) throw new Misfit("password", "Type your password");
    await signIn(name, fields.password);
    location.assign("/");
  });
}

async function signIn(name, password) {
  try {
    await call("POST", "/api/sign-in", { name, password });
  } catch (error) {
    if (error.wait) countDown(error.wait);
    error.message = error.message.replace(/^sign in: /, "");
    throw error.status === 401 ? new Misfit("password", error.message) : error;
  }
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

// ---- joining ----

showTimes(document);
const joining = byId("join-form");

if (joining) {
  onSubmit(joining, place, async (fields) => {
    const name = required(fields, "name", "Type the name you want to be called by");
    const password = checkedPassword(fields.password, fields.again);
    try {
      await call("POST", "/api/join", { token: joining.dataset.token, name, password });
    } catch (error) {
      throw error.status === 400 && /name|taken|people/.test(error.message) ? new Misfit("name", plain(error)) : error;
    }
    location.assign("/");
  });
}

const plain = (error) => error.message.replace(/^(people|name): /, "");
