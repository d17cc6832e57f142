// What the page says, as plain functions of what it knows.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);
export const amount = (x) => (Math.abs(x) < 100 ? tenths : whole).format(Math.abs(x) < 0.05 ? 0 : x); // never -0
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function minutes(x) {
  if (Math.abs(x) < 120) return `${amount(x)} min`;
  return `${amount(x / 60)} h`;
}

/** Saved so far: as a share of the cost, and in time once people have been timed with lists and without. */
export function saved(progress) {
  const share = savedShare(progress);
  if (share <= 0) return "nothing yet";
  const time = progress.saved_minutes > 0 ? ` · ${minutes(progress.saved_minutes)}` : "";
  return `${whole.format(100 * share)} %${time}`;
}

export const savedShare = ({ saved, cost }) => (saved + cost > 0 ? saved / (saved + cost) : 0);

/** How the time was worked out. */
export const pace = ({ whole, listed }) => `an answer takes ${tenths.format(whole)} s with all classes, ${tenths.format(listed)} s with lists`;

/** What is happening, in a line. */
export function doing(progress, ahead) {
  if (!progress) return "";
  if (progress.saves === false) return `No answer can be saved now: ${progress.error}.`;
  if (progress.error) return `${progress.error} Answers are still saved.`;
  const round = `Round ${progress.round}`;
  if (progress.state === "over") return progress.ending ? `Over: ${progress.ending}` : "The campaign is over.";
  if (progress.state === "working") {
    const work = progress.doing || "training";
    return ahead ? `${round}: ${work}. You are answering ahead while the model trains.` : `${round}: ${work}.`;
  }
  if (progress.state === "calibrating") return `${round}: calibrating. These answers decide how short the lists can be.`;
  if (progress.round === 0) return "First some items that only tell how good the model is: all classes are shown.";
  if (progress.round === 1) return "The first round teaches the first model: all classes are shown. Lists come after it.";
  return progress.open ? `${round}: ${plural(progress.open, "question")} open.` : `${round}: asking.`;
}

/** The screen between questions: a title and a sentence. */
export function waiting(progress, trouble) {
  if (trouble?.signedOut) return ["You are signed out", "Sign in again to go on."];
  if (trouble?.status === 503) return ["The server has trouble", `${capital(trouble.message)}. The page goes on by itself.`];
  if (trouble?.passing) return ["No connection", "The page goes on by itself as soon as the server answers again."];
  if (trouble) return ["The server refused", `${capital(trouble.message)}.`];
  if (!progress) return ["One moment", "The first questions are on their way."];
  if (progress.saves === false) return ["No answer can be saved now", `${capital(progress.error)}.`];
  if (progress.error) return ["The model's worker has trouble", `${progress.error} If it lasts, the owner has to look at it.`];
  if (progress.state === "working") {
    return ["The model is learning", `${capital(progress.doing || "training")}. The next questions come by themselves.`];
  }
  return ["Nothing to answer just now", "All open questions are with other people. New ones come by themselves."];
}

export function saving(state) {
  const answers = plural(state.waiting, "answer");
  if (state.phase === "saving") return "Saving…";
  if (state.phase === "offline" && state.trouble.status !== 0) return `The server has trouble: ${answers} waiting.`;
  if (state.phase === "offline") return `Offline: ${answers} waiting.`;
  if (state.phase === "signed-out") return `Signed out: ${answers} waiting.`;
  return "Saved";
}

export function prompt(walk) {
  const n = walk.shown.length;
  if (walk.atRest) return walk.stage === 0 ? "Which class is it?" : "Which of the others is it?";
  if (n === 1) return walk.stage === 0 ? "Is it this?" : "Or this?";
  return walk.stage === 0 ? "Which one is it?" : "Or one of these?";
}

/** A sentence under the prompt, where there is something to say. */
export function hint(walk) {
  const n = walk.shown.length;
  const order = walk.hasOrders ? orderOf(walk.byName) : "";
  if (walk.asButtons) return order && `${capital(order)}.`;
  const counted = walk.atRest ? `${plural(n, "class", "classes")}${walk.stage ? " left" : ""}` : `${count(n)} to choose from`;
  return order ? `${counted}, ${order}.` : `${counted}.`;
}

export const orderOf = (byName) => (byName ? "by name" : "most probable first");

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
