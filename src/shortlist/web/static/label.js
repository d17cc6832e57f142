// The labelling page. A question is answered in the page and the next one shown at once; the answer goes out behind it.

import { api, ApiError } from "./api.js";
import { Bar, announce, notice } from "./bar.js";
import { ClassIndex } from "./class_search.js";
import { Desk } from "./desk.js";
import { Dialogs } from "./dialogs.js";
import { Hand, READY } from "./hand.js";
import { fillEnding, fillWaiting, showOnly } from "./interludes.js";
import { ItemView, prepare } from "./item_view.js";
import { keyOf, meaning } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Sitting } from "./question.js";
import { Session } from "./session.js";
import { Stopwatch, attend } from "./stopwatch.js";
import { Trail } from "./trail.js";
import { plural } from "./words.js";

const POLL = 2_000; // milliseconds, while there is no question
const MOST_ASKED = 20; // questions, as the server has it
const MOST_HELD = 40;
const REFRESH = 15_000; // milliseconds, while there is one: others answer too
const $ = (id) => document.getElementById(id);
const { campaign, person } = document.body.dataset;

class LabellingPage {
  progress = null;
  index = null; // ClassIndex
  sitting = null; // what is on the desk
  card = null; // its item
  aside = null; // {sitting, card} that waits while one has gone back
  trouble = null; // the ApiError of the last time the server was asked
  ended = false;
  goingBack = false;

  constructor() {
    this.hand = new Hand();
    this.trail = new Trail(api);
    this.session = new Session(`${campaign}:${person}`);
    this.outbox = new Outbox({
      prefix: `shortlist:answer:${campaign}:${person}:`,
      send: (answer) => this.#send(answer),
      standing: async (id) => (await api.question(id)).answer,
    });
    this.desk = new Desk({ choose: (cls) => this.choose(cls), none: () => this.none() });
    this.item = new ItemView({
      body: $("item-body"),
      caption: $("item-key"),
      onSetAside: () => this.act("unreadable"),
      onAgain: () => this.#showItem(prepare(this.card.question)),
    });
    this.bar = new Bar(() => this.outbox.now());
    this.dialogs = new Dialogs({
      opened: () => this.sitting?.watch.stop(),
      closed: () => this.desk.isReady && this.sitting?.watch.start(),
      note: (text) => this.#noted(text),
    });
    this.#listen();
  }

  async start() {
    this.#wait();
    this.bar.saving(this.outbox.state);
    this.outbox.now();
    await this.#loadClasses();
    await this.poll();
    setInterval(() => this.#refresh(), REFRESH);
  }

  // ---- answering

  choose(cls) {
    if (this.#canAnswer() && this.sitting.shown.includes(cls)) this.#answered(this.sitting.label(cls));
  }

  none() {
    if (!this.#canAnswer()) return;
    if (this.sitting.noneEnds) return this.#answered(this.sitting.nothing());
    this.sitting.advance();
    this.#showStage();
    announce(`${$("prompt").textContent} ${plural(this.sitting.shown.length, "class", "classes")}.`);
  }

  act(name) {
    const acts = {
      undo: () => this.undo(),
      help: () => this.dialogs.help(),
      search: () => this.#toSearch(),
      note: () => this.sitting && this.dialogs.note(this.sitting.note),
      skip: () => this.sitting && this.#answered(this.sitting.skip()),
      unreadable: () => this.sitting && this.#answered(this.sitting.unreadable()),
      nothing: () => this.#canAnswer() && this.sitting.question.exhaustive && this.#answered(this.sitting.nothing()),
    };
    acts[name]?.();
  }

  /** Whether one has gone back to a question answered before. */
  get reviewing() {
    return Boolean(this.sitting?.question.answer);
  }

  #canAnswer() {
    return this.sitting !== null && this.desk.isReady;
  }

  #answered(answer) {
    const { question } = this.sitting;
    this.sitting.watch.stop();
    this.session.add(answer, this.sitting.active, this.reviewing);
    this.hand.drop(question.id);
    this.trail.push(question, answer);
    this.outbox.add(answer);
    this.desk.last(answer, question.item.key, this.index.names);
    this.#onwards();
  }

  #send(answer) {
    return api.answer({ ...answer, ...this.#need(answer.question) });
  }

  /** `holding` has what waits to be sent as well: it must not be dealt to me again. Much that waits is enough for now. */
  #need(sent = null) {
    const waiting = this.outbox.questions.filter((id) => id !== sent);
    const holding = [...new Set([...this.hand.ids, ...waiting])].slice(0, MOST_HELD);
    return { n: Math.min(READY + waiting.length, MOST_ASKED), holding };
  }

  // ---- what is on the desk

  /** Back to the question put aside, or on to the next one in hand. */
  #onwards() {
    this.trail.leave();
    const { aside } = this;
    this.aside = null;
    if (aside) this.#sit(aside.card, aside.sitting);
    else if (this.hand.first) this.#sit(this.hand.first);
    else this.#wait();
    this.#showProgress();
  }

  #sit(card, sitting = null) {
    const watch = new Stopwatch({ hidden: document.hidden });
    this.card = card;
    this.sitting = sitting ?? new Sitting(card.question, this.index.names.length, watch);
    showOnly("desk");
    this.desk.seen(false);
    this.#showStage();
    this.#showItem();
    announce(`Item ${card.question.item.key}. ${plural(this.sitting.shown.length, "option")}.`);
    if (window.scrollY) window.scrollTo({ top: 0 });
  }

  #showStage() {
    this.desk.show(this.sitting, this.index, this.sitting.question.answer);
  }

  async #showItem(card = this.card) {
    const { sitting } = this;
    this.card = card;
    const seen = await this.item.show(this.card);
    if (seen === null || sitting !== this.sitting) return;
    if (seen) this.desk.seen(true);
    if (!this.dialogs.open) sitting.watch.start();
  }

  #noted(text) {
    if (!this.sitting) return;
    this.sitting.note = text;
    this.desk.noted(text);
  }

  #toSearch() {
    if (this.sitting && !this.sitting.asButtons) this.desk.input.focus();
  }

  // ---- undo

  /** Back a stage; at the first one, back to one's answer before this one, and so on. */
  async undo() {
    if (this.goingBack) return;
    if (this.sitting?.stage > 0) {
      this.sitting.retreat();
      return this.#showStage();
    }
    this.goingBack = true;
    try {
      const step = await this.trail.back();
      if (step) this.#review(step);
      else notice("There is no earlier answer to change.");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      notice(`The answer before cannot be changed now: ${error.message}.`, { error: true });
    } finally {
      this.goingBack = false;
    }
  }

  #review({ question, answer }) {
    if (this.sitting && !this.reviewing) {
      this.sitting.watch.stop();
      this.aside = { sitting: this.sitting, card: this.card };
    }
    if (answer.id) this.outbox.stands(question.id, answer.id);
    this.#sit(prepare({ ...question, answer }));
  }

  /** Leave the earlier answer as it is. */
  keep() {
    if (this.reviewing) this.#onwards();
  }

  // ---- the server

  #wait() {
    this.sitting = null;
    this.card = null;
    if (this.progress?.state === "over" && this.outbox.state.waiting === 0) return this.#end();
    showOnly("waiting");
    fillWaiting(this.progress, {
      trouble: this.trouble,
      canUndo: this.trail.length > 0,
      waiting: this.outbox.state.waiting,
    });
    announce($("waiting-title").textContent);
    this.#pollSoon();
  }

  #end() {
    this.ended = true;
    fillEnding(this.progress, person);
    showOnly("ending");
    $("ending-title").focus({ preventScroll: true });
  }

  #pollSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.poll(), POLL);
  }

  /** Ask for questions until there are some. */
  async poll() {
    try {
      if (!this.index) await this.#loadClasses();
      this.#heard(await api.status());
      if (this.progress.state !== "over") await this.#fetch();
    } catch (error) {
      this.#unheard(error);
    }
    if (this.sitting || this.ended) return;
    if (this.hand.first && this.index) this.#onwards();
    else this.#wait();
  }

  async #fetch() {
    const { n, holding } = this.#need();
    const { questions, progress } = await api.questions(n, holding);
    this.#deal(questions);
    this.#heard(progress);
  }

  /** Into the hand, but for those whose answer is on its way. */
  #deal(questions) {
    const waiting = new Set(this.outbox.questions);
    for (const { id, answer } of questions) if (answer) this.outbox.stands(id, answer.id);
    this.hand.take(questions.filter(({ id }) => !waiting.has(id)));
  }

  async #refresh() {
    if (document.hidden || !this.sitting) return;
    try {
      // To ask for questions keeps those one has. Who has gone away keeps nothing: the others get them
      if (this.sitting.watch.isIdle) this.#heard(await api.status());
      else await this.#fetch();
    } catch (error) {
      this.#unheard(error);
    }
  }

  async #loadClasses() {
    try {
      this.index = new ClassIndex((await api.classes()).names);
    } catch (error) {
      this.#unheard(error);
    }
  }

  #heard(progress) {
    this.trouble = null;
    this.progress = progress;
    this.#showProgress();
  }

  #unheard(error) {
    if (!(error instanceof ApiError)) throw error;
    this.trouble = error;
  }

  #showProgress() {
    const ahead = this.sitting !== null && !this.reviewing;
    this.bar.show(this.progress, { fresh: this.outbox.fresh, ahead, speed: this.session.speed });
  }

  #saved({ reply }) {
    if (!reply) return;
    this.#deal(reply.questions);
    this.#heard(reply.progress);
    if (!this.sitting && !this.ended && this.index) this.hand.first ? this.#onwards() : this.#wait();
  }

  #refused({ answer, error }) {
    this.trail.forget(answer.question);
    notice(`One answer was not taken: ${error.message}.`, { error: true });
    if (!this.sitting) this.#pollSoon();
  }

  // ---- events

  #listen() {
    attend(() => this.sitting?.watch);
    this.outbox.addEventListener("saved", (event) => this.#saved(event.detail));
    this.outbox.addEventListener("refused", (event) => this.#refused(event.detail));
    this.outbox.addEventListener("change", (event) => this.bar.saving(event.detail));
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-action]");
      if (button) this.act(button.dataset.action);
    });
    $("keep").addEventListener("click", () => this.keep());
    document.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("beforeunload", (event) => this.outbox.state.phase === "offline" && event.preventDefault());
    window.addEventListener("sign-out", (event) => this.#signingOut(event));
    window.addEventListener("pagehide", () => this.#release());
    window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  #key(event) {
    if (this.dialogs.open || event.isComposing) return;
    const field = event.target.closest?.("input:not([type=checkbox]), textarea, select");
    const asked = meaning(event, { typing: Boolean(field), emptyField: !field?.value, alone: this.dialogs.keysAlone });
    if (asked) {
      event.preventDefault();
      if (!event.repeat) this.#obey(asked);
    } else if (!field && event.key === "Escape") {
      this.keep();
    } else if (!field && this.item.scroll(keyOf(event))) {
      event.preventDefault();
    }
  }

  #obey(asked) {
    if (asked.action) return this.act(asked.action);
    if (asked.none) return this.none();
    if (this.sitting?.asButtons && asked.option < this.sitting.shown.length) {
      this.choose(this.sitting.shown[asked.option]);
    }
    return undefined;
  }

  #signingOut(event) {
    if (!this.outbox.state.waiting) return;
    event.preventDefault();
    notice("Some answers are not saved yet. Sign out when they are.", { error: true });
  }

  /** Others may have what I leave; what waits in the outbox is still mine. */
  #release() {
    if (this.hand.size) api.release(this.hand.ids).catch(() => {});
    this.hand.clear();
  }
}

new LabellingPage().start();
