// Who labels: how much, how fast, how much alike; roles, and invitations.

import { call } from "../shared/api.js";
import { confirmed } from "./confirmation.js";
import { showOnce } from "./copying.js";
import { button, byId, make } from "../shared/elements.js";
import { onSubmit } from "../shared/forms.js";
import { complain, hush, tell } from "../shared/messages.js";
import { table } from "./tables.js";
import { atMinute } from "../shared/times.js";
import { amount, count, minutes, plural } from "../shared/words.js";

const me = document.body.dataset.person;
const place = byId("message");

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

onSubmit(byId("invite-form"), byId("invite-message"), async ({ role, hours }) => {
  const { link } = await call("POST", "/api/invitations", { role, hours: Number(hours) });
  const only = LOCAL.has(location.hostname) ? " From another machine it works only if the server was started with --host." : "";
  const hint = `Send it to one person. It is shown only now, and works once.${only}`;
  showOnce(byId("invite-link"), { label: `Link for one ${role}`, text: link, hint });
  await showInvitations();
});

load();

async function load() {
  try {
    await Promise.all([showPeople(), showInvitations()]);
  } catch (error) {
    complain(place, error);
  }
}

// ---- people ----

async function showPeople() {
  const { people, kappa } = await call("GET", "/api/people");
  byId("people").replaceChildren(
    table({ caption: "People of this campaign", columns: PEOPLE, rows: people }),
  );
  showKappa(kappa);
}

const share = (part, whole) => `${Math.round((100 * part) / whole)} %`;
const of = (part, whole) => (whole ? [share(part, whole), small(`${part} of ${whole}`)] : "–");
const small = (words) => make("span", { class: "small" }, words);

const PEOPLE = [
  { name: "Person", of: (one) => who(one) },
  { name: "Answers", number: true, of: (one) => [count(one.answers), small(besides(one))] },
  { name: "Time", number: true, of: (one) => (one.minutes ? minutes(one.minutes) : "–") },
  { name: "Median", number: true, of: (one) => (one.median_seconds === null ? "–" : `${amount(one.median_seconds)} s`) },
  { name: "Agreement", number: true, of: (one) => agreement(one.agreement) },
  { name: "Took a wrong list", number: true, of: (one) => of(one.trust.wrong_accepted, one.trust.wrong_asked) },
  { name: "Right list, right answer", number: true, of: (one) => of(one.trust.right_correct, one.trust.right_asked) },
  { name: "Change", of: (one) => changes(one) },
];

function who(one) {
  const state = one.role === null ? "no account" : one.active ? one.role : `${one.role}, not active`;
  const seen = one.last ? `last answer ${atMinute(one.last)}` : null;
  return [make("span", { class: "person-name" }, one.name === me ? `${one.name} (you)` : one.name), small(state), seen ? small(seen) : null];
}

function besides({ skips, nones }) {
  return [nones ? `${count(nones)} with “none”` : "", skips ? `${count(skips)} skipped` : ""].filter(Boolean).join(", ");
}

const agreement = (one) =>
  one?.n ? [share(one.share, 1), small(`on ${plural(one.n, "item")}`)] : "–";

function changes(one) {
  if (one.role === null) return "–";
  const other = one.role === "owner" ? "annotator" : "owner";
  const role = button(`Make ${other}`, () => changeRole(one, other), "button small", { "aria-label": `Make ${other}: ${one.name}` });
  const verb = one.active ? "Deactivate" : "Reactivate";
  const active = button(verb, () => changeActive(one), "button small", { "aria-label": `${verb}: ${one.name}` });
  return make("div", { class: "row-buttons" }, one.active ? role : null, active);
}

async function changeRole(one, role) {
  const may = role === "owner" ? "An owner sees and changes everything here, people included." : "An annotator can label, and nothing else.";
  const agreed = await confirmed({ title: `Make ${one.name} ${role}?`, words: `${may} ${signedOut(one)}`, yes: `Make ${role}` });
  if (agreed) await change(one, { role }, `${one.name} is ${role} now.`);
}

async function changeActive(one) {
  if (!one.active) return change(one, { active: true }, `${one.name} can sign in again.`);
  const words = `${signedOut(one)} ${whose(one)} tokens and open invitations end for good. The answers stay.`;
  const agreed = await confirmed({ title: `Deactivate ${one.name}?`, words, yes: "Deactivate" });
  if (agreed) await change(one, { active: false }, `${one.name} cannot sign in any more.`);
}

const whose = (one) => (one.name === me ? "Your" : `${one.name}’s`);
const signedOut = (one) => (one.name === me ? "You are signed out at once." : `${one.name} is signed out at once.`);

async function change(one, body, done) {
  hush(place);
  try {
    await call("POST", `/api/people/${encodeURIComponent(one.name)}`, body);
    if (one.name === me) return location.assign("/");
    await Promise.all([showPeople(), showInvitations()]);
    tell(place, done);
  } catch (error) {
    complain(place, error);
  }
  byId("people-title").focus(); // the button that was pressed is gone
}

// ---- how alike they label ----

const BANDS = [[0.8, "almost perfect"], [0.6, "substantial"], [0.4, "moderate"], [0.2, "fair"], [0, "slight"]];

function showKappa({ value, kind, items, people }) {
  byId("kappa-value").textContent = value === null ? "–" : value.toFixed(2);
  byId("kappa-kind").textContent = `${kind === "Cohen" ? "Cohen’s" : "Fleiss’"} kappa`;
  const from = `${plural(items, "item")} that ${plural(people, "person", "people")} labelled independently`;
  const none = items
    ? `There are ${from}, but all with one label: chance alone would agree as well.`
    : "No item has been labelled by two people yet. A campaign’s overlap says how many are.";
  const band = BANDS.find(([least]) => value >= least)?.[1] ?? "worse than chance";
  byId("kappa-words").textContent = value === null ? none : `From ${from}: ${band}.`;
}

// ---- invitations ----

async function showInvitations() {
  const { invitations } = await call("GET", "/api/invitations");
  byId("invitations").replaceChildren(
    invitations.length
      ? table({ caption: "Invitations, newest first", columns: INVITATIONS, rows: invitations })
      : make("p", { class: "hint" }, "No invitation has been made yet."),
  );
}

const INVITATIONS = [
  { name: "Made", of: (one) => atMinute(one.made_at) },
  { name: "Role", of: (one) => one.role },
  { name: "By", of: (one) => one.by },
  { name: "State", of: (one) => state(one) },
  { name: "Change", of: (one) => (isOpen(one) ? button("Take back", () => revoke(one), "button small", { "aria-label": `Take back: invitation of ${atMinute(one.made_at)}` }) : "–") },
];

const isOpen = (one) => !one.used_by && !one.revoked && !one.expired;

function state(one) {
  if (one.used_by) return `used by ${one.used_by}`;
  if (one.revoked) return "taken back";
  return one.expired ? `expired ${atMinute(one.expires_at)}` : `open until ${atMinute(one.expires_at)}`;
}

async function revoke(one) {
  hush(byId("invite-message"));
  try {
    await call("DELETE", `/api/invitations/${one.id}`);
    await showInvitations();
    byId("invite-link").hidden = true; // it may be the one that is shown
    tell(byId("invite-message"), "The invitation was taken back.");
  } catch (error) {
    complain(byId("invite-message"), error);
  }
  byId("invitations-title").focus();
}
