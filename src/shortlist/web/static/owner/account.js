// One's own account: the password, and tokens for programs.

import { call } from "../shared/api.js";
import { confirmed } from "./confirmation.js";
import { showOnce } from "./copying.js";
import { button, byId, make } from "../shared/elements.js";
import { checkedPassword, Misfit, onSubmit, required } from "../shared/forms.js";
import { complain, hush, tell } from "../shared/messages.js";
import { table } from "./tables.js";
import { onDay } from "../shared/times.js";

const CHANGED = "password-changed";
const passwordMessage = byId("password-message");
const tokenMessage = byId("token-message");

// A new password is a new session, whose pages carry another token: the page was loaded anew
if (location.hash === `#${CHANGED}`) {
  history.replaceState(null, "", location.pathname);
  tell(passwordMessage, "The password is changed. All other sessions of yours have ended.");
  byId("password-title").focus();
}

const form = byId("password-form");
onSubmit(form, passwordMessage, async (fields) => {
  if ("old" in fields && !fields.old) throw new Misfit("old", "Type your present password");
  const fresh = checkedPassword(fields.new, fields.again, ["new", "again"]);
  try {
    await call("POST", "/api/me/password", { old: fields.old ?? null, new: fresh });
  } catch (error) {
    throw error.status === 401 ? new Misfit("old", "The present password is wrong") : error;
  }
  location.hash = CHANGED;
  location.reload();
});

onSubmit(byId("token-form"), tokenMessage, async (fields, sent) => {
  const label = required(fields, "label", "Say what the token is for");
  const { token } = await call("POST", "/api/tokens", { label });
  sent.reset();
  showOnce(byId("token-shown"), { label: `Token for ${label}`, text: token, hint: "It is shown only now. Keep it as you would keep a password." });
  await showTokens();
});

showTokens().catch((error) => complain(tokenMessage, error));

async function showTokens() {
  const { tokens } = await call("GET", "/api/tokens");
  byId("tokens").replaceChildren(
    tokens.length ? table({ caption: "Your tokens", columns: TOKENS, rows: tokens }) : make("p", { class: "hint" }, "You have no tokens."),
  );
}

const TOKENS = [
  { name: "For", of: (one) => one.label },
  { name: "Made", of: (one) => onDay(one.made_at) },
  { name: "Change", of: (one) => button("Revoke", () => revoke(one), "button small", { "aria-label": `Revoke the token for ${one.label}` }) },
];

async function revoke(one) {
  const words = "Programs that use it are refused from now on.";
  if (!(await confirmed({ title: `Revoke the token for ${one.label}?`, words, yes: "Revoke" }))) return;
  hush(tokenMessage);
  try {
    await call("DELETE", `/api/tokens/${one.id}`);
    byId("token-shown").hidden = true;
    await showTokens();
    tell(tokenMessage, `The token for ${one.label} is revoked.`);
  } catch (error) {
    complain(tokenMessage, error);
  }
  byId("tokens-title").focus();
}
