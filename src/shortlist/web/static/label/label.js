// The labelling page. A question is answered in the page and the next one shown at once; the answer goes out behind it.

import { api, ApiError } from "../shared/api.js";
import { ClassIndex } from "../shared/class_search.js";
import { byId as $ } from "../shared/elements.js";
import { ItemView, prepare } from "../shared/item_view.js";
import { areDigits, keyOf, meaning } from "../shared/keys.js";
import { Lens } from "../shared/lens.js";
import { Outbox } from "../shared/outbox.js";
import { alphabet, Walk } from "../shared/stages.js";
import { Stopwatch, attend } from "../shared/stopwatch.js";
import { capital, orderOf, plural } from "../shared/words.js";
import { Bar, Speed, announce, notice } from "./bar.js";
import { Dialogs } from "./dialogs.js";
import { GuideView } from "./guide_view.js";
import { AnswerHistory } from "./history.js";
import { Preference } from "./preference.js";
import { Prefetched, READY } from "./prefetch.js";
import { QuestionView } from "./question_view.js";
import { fillEnding, fillWaiting, showOnly } from "./waiting_screens.js";

const POLL = 2_000; // milliseconds, while there is no question
const MOST_ASKED = 20; // questions, as the server has it
const MOST_HELD = 40;
const REFRESH = 15_000; // milliseconds, while there is one: others answer too
const { campaign, person } = document.body.dataset;

class LabellingPage {
  progress = null;
  index = null; // ClassIndex
  named = null; // all classes by their names
  walk = null; // through the question that is shown
  prepared = null; // that question with its item loaded
  aside = null; // {walk, prepared} that waits while one has gone back
  trouble = null; // the ApiError of the last time the server was asked
  ended = false;
  goingBack = false;
  leaving = null; // signs out, once everything is saved

  constructor() {
    this.byName = new Preference(`shortlist:by-name:${campaign}:${person}`);
    this.prefetched = new Prefetched();
    this.history = new AnswerHistory(api);
    this.speed = new Speed(`${campaign}:${person}`);
    this.outbox = new Outbox({
      prefix: `shortlist:answer:${campaign}:${person}:`,
      send: (answer) => this.#send(answer),
      standing: async (id) => (await api.question(id)).answer,
    });
    this.view = new QuestionView({ choose: (cls) => this.choose(cls), none: () => this.none() });
    this.item = new ItemView({
      body: $("item-body"),
      caption: $("item-key"),
      lens: new Lens($("item-body")),
      onSetAside: () => this.act("unreadable"),
      onAgain: () => this.#showItem(prepare(this.prepared.question)),
    });
    this.bar = new Bar(() => this.outbox.now());
    this.dialogs = new Dialogs({
      opened: () => this.walk?.watch.stop(),
      closed: () => this.view.isReady && this.walk?.watch.start(),
      note: (text) => this.#noted(text),
    });
    this.guide = new GuideView(api);
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
    if (this.#canAnswer() && this.walk.shown.includes(cls)) this.#answered(this.walk.label(cls));
  }

  none() {
    if (!this.#canAnswer()) return;
    if (!this.walk.hasNone) return notice("All classes are shown. X says that it belongs to none of them.");
    if (this.walk.noneEnds) return this.#answered(this.walk.nothing());
    this.walk.advance();
    this.#showStage();
    announce(`${$("prompt").textContent} ${plural(this.walk.shown.length, "class", "classes")}.`);
  }

  act(name) {
    const acts = {
      undo: () => this.undo(),
      help: () => this.dialogs.help(),
      search: () => this.#toSearch(),
      order: () => this.walk && this.#reorder(),
      guide: () => this.walk && this.#showGuide(),
      note: () => this.walk && this.dialogs.note(this.walk.note),
      skip: () => this.walk && this.#answered(this.walk.skip()),
      unreadable: () => this.walk && this.#answered(this.walk.unreadable()),
      nothing: () => this.#canAnswer() && this.walk.canSayNothing && this.#answered(this.walk.nothing()),
    };
    acts[name]?.();
  }

  /** Whether one has gone back to a question answered before. */
  get reviewing() {
    return Boolean(this.walk?.question.answer);
  }

  #canAnswer() {
    return this.walk !== null && this.view.isReady;
  }

  #answered(answer) {
    const { question } = this.walk;
    this.walk.watch.stop();
    this.speed.add(answer, this.walk.active, this.reviewing);
    this.prefetched.drop(question.id);
    this.history.push(question, answer);
    this.outbox.add(answer);
    this.view.last(answer, question.item.key, this.index.names);
    this.#onwards();
  }

  #send(answer) {
    return api.answer({ ...answer, ...this.#need(answer.question) });
  }

  /** `holding` has what waits to be sent as well: it must not be dealt to me again. Much that waits is enough for now. */
  #need(sent = null) {
    const waiting = this.outbox.questions.filter((id) => id !== sent);
    const holding = [...new Set([...this.prefetched.ids, ...waiting])].slice(0, MOST_HELD);
    return { n: Math.min(READY + waiting.length, MOST_ASKED), holding };
  }

  // ---- what is shown

  /** Back to the question put aside, or on to the next one that is ready. */
  #onwards() {
    this.history.leave();
    const { aside } = this;
    this.aside = null;
    if (aside) this.#open(aside.prepared, aside.walk);
    else if (this.prefetched.first) this.#open(this.prefetched.first);
    else this.#wait();
    this.#showProgress();
  }

  #open(prepared, walk = null) {
    const watch = new Stopwatch({ hidden: document.hidden });
    this.prepared = prepared;
    this.walk = walk ?? new Walk(prepared.question, this.named, watch);
    this.walk.reorder(this.byName.on);
    showOnly("question");
    this.view.seen(false);
    this.#showStage();
    this.#showItem();
    announce(`Item ${prepared.question.item.key}. ${plural(this.walk.shown.length, "option")}.`);
    if (window.scrollY) window.scrollTo({ top: 0 });
  }

  #showStage() {
    this.view.show(this.walk, this.index);
  }

  async #showItem(prepared = this.prepared) {
    const { walk } = this;
    this.prepared = prepared;
    const seen = await this.item.show(this.prepared);
    if (seen === null || walk !== this.walk) return;
    if (seen) this.view.seen(true);
    if (!this.dialogs.open) walk.watch.start();
  }

  #reorder() {
    if (!this.walk.hasOrders) return notice("The classes are by name: no model has looked at this item yet.");
    this.byName.on = !this.byName.on;
    this.walk.reorder(this.byName.on);
    this.view.reorder(this.walk, this.index);
    return announce(`${capital(orderOf(this.byName.on))}.`);
  }

  #showGuide() {
    const { walk } = this;
    this.dialogs.guide();
    this.guide.show(walk.asButtons ? walk.shown : this.view.search.hits, this.index.names, walk.question.item.key);
  }

  #noted(text) {
    if (!this.walk) return;
    this.walk.note = text;
    this.view.noted(text);
  }

  #toSearch() {
    if (this.walk && !this.walk.asButtons) this.view.input.focus();
  }

  // ---- undo

  /** Back a stage; at the first one, back to one's answer before this one, and so on. */
  async undo() {
    if (this.goingBack) return;
    if (this.walk?.stage > 0) {
      this.walk.retreat();
      return this.#showStage();
    }
    this.goingBack = true;
    try {
      const step = await this.history.back();
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
    if (this.walk && !this.reviewing) {
      this.walk.watch.stop();
      this.aside = { walk: this.walk, prepared: this.prepared };
    }
    if (answer.id) this.outbox.stands(question.id, answer.id);
    this.#open(prepare({ ...question, answer }));
  }

  /** Leave the earlier answer as it is. */
  keep() {
    if (this.reviewing) this.#onwards();
  }

  // ---- the server

  #wait() {
    this.walk = null;
    this.prepared = null;
    if (this.progress?.state === "over" && this.outbox.state.waiting === 0) return this.#end();
    showOnly("waiting");
    fillWaiting(this.progress, {
      trouble: this.trouble,
      canUndo: this.history.length > 0,
      waiting: this.outbox.state.waiting,
    });
    announce($("waiting-title").textContent);
    this.#pollSoon();
  }

  #end() {
    const hadFocus = this.view.ownsFocus;
    this.ended = true;
    fillEnding(this.progress, person);
    showOnly("ending");
    if (hadFocus) $("ending-title").focus({ preventScroll: true });
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
    if (this.walk || this.ended) return;
    if (this.prefetched.first && this.index) this.#onwards();
    else this.#wait();
  }

  async #fetch() {
    const { n, holding } = this.#need();
    const { questions, progress } = await api.questions(n, holding);
    this.#deal(questions);
    this.#heard(progress);
  }

  /** To those ready here, but for those whose answer is on its way. */
  #deal(questions) {
    const waiting = new Set(this.outbox.questions);
    for (const { id, answer } of questions) if (answer) this.outbox.stands(id, answer.id);
    this.prefetched.take(questions.filter(({ id }) => !waiting.has(id)));
  }

  async #refresh() {
    if (document.hidden || !this.walk) return;
    try {
      // To ask for questions keeps those one has. Who has gone away keeps nothing: the others get them
      if (this.walk.watch.isIdle) this.#heard(await api.status());
      else await this.#fetch();
    } catch (error) {
      this.#unheard(error);
    }
  }

  async #loadClasses() {
    try {
      const { names, about } = await api.classes();
      this.named = alphabet(names);
      this.index = new ClassIndex(names, about);
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
    const ahead = this.walk !== null && !this.reviewing;
    this.bar.show(this.progress, { fresh: this.outbox.fresh, ahead, speed: this.speed.perMinute });
  }

  #saved({ reply }) {
    if (!reply) return;
    this.#deal(reply.questions);
    this.#heard(reply.progress);
    if (!this.walk && !this.ended && this.index) this.prefetched.first ? this.#onwards() : this.#wait();
  }

  #refused({ answer, error }) {
    this.history.forget(answer.question);
    notice(`One answer was not taken: ${error.message}.`, { error: true });
    if (!this.walk) this.#pollSoon();
  }

  // ---- events

  #listen() {
    attend(() => this.walk?.watch);
    this.outbox.addEventListener("saved", (event) => this.#saved(event.detail));
    this.outbox.addEventListener("refused", (event) => this.#refused(event.detail));
    this.outbox.addEventListener("change", (event) => this.#saving(event.detail));
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
    const typed = { typing: Boolean(field), emptyField: !field?.value, numbers: !this.index?.hasNumbers };
    const asked = meaning(event, { ...typed, alone: this.dialogs.keysAlone, digits: areDigits(this.index?.names ?? [""]) });
    if (asked) {
      event.preventDefault();
      if (!event.repeat) this.#obey(asked);
    } else if (!field && event.key === "Escape") {
      this.keep();
    } else if (!field && !event.ctrlKey && !event.metaKey && !event.altKey && this.item.key(keyOf(event))) {
      event.preventDefault();
    }
  }

  #obey(asked) {
    if (asked.action) return this.act(asked.action);
    if (asked.none) return this.none();
    if (asked.digit) return this.choose(this.index.names.indexOf(asked.digit));
    if (!this.walk?.asButtons) return this.walk && this.view.search.pick(asked.option);
    return asked.option < this.walk.shown.length ? this.choose(this.walk.shown[asked.option]) : undefined;
  }

  /** The last answer is often still on its way: then it is waited for, unless it cannot be sent. */
  #signingOut(event) {
    const { phase } = this.outbox.state;
    if (phase === "saved") return;
    event.preventDefault();
    if (phase === "saving") this.leaving = event.detail;
    else notice("Some answers are not saved yet. Sign out when they are.", { error: true });
  }

  #saving(state) {
    this.bar.saving(state);
    const { leaving } = this;
    if (!leaving || state.phase === "saving") return;
    this.leaving = null;
    leaving();
  }

  /** Others may have what I leave; what waits in the outbox is still mine. */
  #release() {
    if (this.prefetched.size) api.release(this.prefetched.ids).catch(() => {});
    this.prefetched.clear();
  }
}

new LabellingPage().start();
