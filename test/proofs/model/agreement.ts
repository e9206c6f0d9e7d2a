// Plays one job's life to the reference model and to the ledger, and compares them after every command: the answer, the
// alerts, the view, whether anything was written, and when the alarm is set. Then what must hold whatever the model says.

import { expect } from "vitest";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import type { Settings } from "../../../ledger-service/src/job/schedule.ts";
import { AlarmAgreement, type Run } from "./alarm-agreement.ts";
import type { Jump, Step, TokenChoice } from "./arbitrary.ts";
import type { Alarm, Answer, Call, Command } from "./command.ts";
import { type Fact, hopingIn, isOfTheWatch, lifeOf, waitingFor } from "./facts.ts";
import { answer } from "./reference.ts";
import { inspect } from "./reference-view.ts";
import { dueAt, ring } from "./reference-watch.ts";

/** The ledger under test: the state machine alone, or the object. */
export interface Subject {
  /** `wrote`: whether the record is another; `rows`: how many were written; `null` where that cannot be told. */
  perform(command: Command<string>, now: number): Promise<Answer & { wrote: boolean | null; rows: number | null }>;
  /** Bodies included. */
  view(): JobView | null;
  alarm(): Promise<number | null>;
  /** What is due next, of a subject that can be asked. */
  dueAt?(): number | null;
  /** Further invariants, given every token that was ever used. */
  check?(tokens: ReadonlyMap<string, ReadonlySet<string>>, where: () => string): void;
}

/** Far ahead of the real clock, so that no alarm runs by itself. */
const START = 4_000_000_000_000;
const MOST_HISTORY = 20;

export class Agreement {
  readonly #settings: Settings;
  readonly #jobId: string;
  /** Counts what was met, so that a run can tell whether it met everything. */
  readonly #met: (what: string) => unknown;
  readonly #journal: Fact[] = [];
  readonly #used = new Map<string, Set<string>>();
  readonly #fences = new Map<string, number>();
  #now = START;
  #tokens = 0;
  #steps = 0;
  readonly #alarms: AlarmAgreement;

  constructor(jobId: string, { settings, met }: { settings: Settings; met: (what: string) => unknown }) {
    this.#jobId = jobId;
    this.#settings = settings;
    this.#met = met;
    this.#alarms = new AlarmAgreement(START, met);
  }

  /** The object is another instance from now on, which reads its storage again. */
  evicted(): void {
    this.#alarms.evicted();
  }

  async play(steps: readonly Step[], subject: Subject): Promise<void> {
    for (const { jump, command } of steps) {
      this.#now = (await this.#timeOf(jump, subject)) + jump.off;
      await this.#both(this.#resolved(command), subject);
    }
  }

  /** Never forgotten: a job that nobody touches any more is alerted, or finished and kept or forgotten, at its own alarms. */
  async leaveAlone(subject: Subject): Promise<void> {
    for (let runs = 0; runs < 8; runs++) {
      const at = await subject.alarm();
      if (!this.#isAwaited() && (at === null || this.#journal.length === 0)) return;
      if (at === null) expect.fail("an awaited job has no alarm");
      this.#now = Math.max(this.#now, at);
      const { alerts } = await this.#both({ verb: "alarm", accepts: 9, meanwhile: null, slowMs: 0 }, subject);
      if (alerts.some(({ reason }) => reason !== "conflict")) return;
    }
    expect.fail("left alone, the job was neither alerted nor forgotten");
  }

  async #both(command: Command<string>, subject: Subject): Promise<Answer> {
    const now = this.#now;
    const where = () => `step ${this.#steps} at ${now - START}: ${JSON.stringify(command)}`;
    this.#steps++;
    const known = this.#journal.length;
    const expected =
      command.verb === "alarm"
        ? ring(this.#journal, command, { at: now, settings: this.#settings })
        : { ...answer(this.#journal, command, now), refused: false, endedAt: now };
    const added = this.#journal.slice(known);
    const { outcome, alerts } = expected;

    const { wrote, rows, ...actual } = await subject.perform(command, now);
    this.#now = expected.endedAt;
    expectSame(actual, { outcome, alerts }, where);
    const view = subject.view();
    const shown = expectSame(
      view,
      inspect(this.#journal, this.#settings, { namespace: "n", jobId: this.#jobId }),
      where,
    );
    if (wrote !== null) expectSame(wrote, this.#journal.length !== known, () => `${where()} writes`);
    if (rows !== null) expectSame(rows, rowsOf(added), () => `${where()} writes rows`);

    expectThat(!shown.includes("token-"), () => `${where()} shows no token`);
    for (const { history } of view?.claims ?? []) expectThat(history.length <= MOST_HISTORY, where);
    for (const { replaced } of view?.events ?? []) expectThat(replaced.length <= MOST_HISTORY, where);
    const call = command.verb === "alarm" ? command.meanwhile : command;
    if (call?.verb === "claim") this.#checkFence(actual.outcome, { consumer: call.consumer, added, where });
    await this.#checkAlarm(subject, {
      run: command.verb === "alarm" ? { began: now, refused: expected.refused } : null,
      where,
    });
    subject.check?.(this.#used, where);
    this.#tell(command, expected, { known, added });
    return expected;
  }

  /**
   * Of each consumer's grants the next has the higher fence, also when the job was forgotten in between, unless the clock has
   * stepped back behind what was forgotten. The same grant told again has the same.
   */
  #checkFence(
    outcome: object | null,
    { consumer, added, where }: { consumer: string; added: Fact[]; where: Where },
  ): void {
    if (outcome === null || !("fence" in outcome)) return;
    const fence = Number(outcome.fence);
    const before = this.#fences.get(consumer) ?? 0;
    const grants = lifeOf(this.#journal, consumer)?.grants ?? [];
    const [first] = grants;
    if (first === undefined) return; // abandoned before anybody claimed it
    const isGrant = added.some(({ kind }) => kind === "granted");
    const isAnew = grants.length === 1 && first.at <= before;
    const holds = isGrant ? fence > before || isAnew : fence === before;
    expectThat(holds, () => `${where()}: fence ${fence} after ${before}`);
    this.#fences.set(consumer, fence);
  }

  async #checkAlarm(subject: Subject, { run, where }: { run: Run | null; where: Where }): Promise<void> {
    const due = dueAt(this.#journal, this.#settings);
    if (subject.dueAt !== undefined) expectSame(subject.dueAt(), due, () => `${where()}: what is due next`);
    expectThat(due !== null || !this.#isAwaited(), () => `${where()}: something is due`);
    const problem = this.#alarms.check({ alarm: await subject.alarm(), due, now: this.#now, run });
    expectThat(problem === null, () => `${where()}: ${problem}`);
  }

  #isAwaited(): boolean {
    return waitingFor(this.#journal).length > 0 || hopingIn(this.#journal).length > 0;
  }

  #tell(
    command: Command<string>,
    { outcome, alerts }: Answer,
    { known, added }: { known: number; added: readonly Fact[] },
  ): void {
    const named = outcome !== null && "outcome" in outcome ? String(outcome.outcome) : "nothing";
    const detail = outcome === null ? "" : "reason" in outcome ? `, ${String(outcome.reason)}` : "";
    const { verb } = command;
    this.#met(`${verb}: ${named}${detail}`);
    if (outcome !== null && "vanished" in outcome) this.#met(`${verb}: ${named}, vanished`);
    if (outcome !== null && "error" in outcome && String(outcome.error).startsWith("abandoned by")) {
      this.#met(`${verb}: ${named}, abandoned`);
    }
    for (const { reason, pending, refresh } of alerts) {
      this.#met(`alert: ${reason}`);
      if (refresh) this.#met(`alert: ${reason}, refresh`);
      if (pending.length > 1) this.#met(`alert: ${reason}, several`);
    }
    for (const fact of added) {
      if (fact.kind === "replaced") this.#met("event: replaced");
      if (fact.kind !== "completed") continue;
      if (lifeOf(this.#journal, fact.consumer)?.previous?.kind === "abandoned") this.#met("complete: ok, abandoned");
    }
    if (known > 0 && this.#journal.length === 0) this.#met("alarm: forgotten");
  }

  async #timeOf(jump: Jump, subject: Subject): Promise<number> {
    switch (jump.to) {
      case "now":
        return this.#now;
      case "end of lease": {
        const life = lifeOf(this.#journal, jump.consumer);
        return life?.grant === undefined ? this.#now : life.leaseEnd;
      }
      case "retry time": {
        const latest = lifeOf(this.#journal, jump.consumer)?.latest;
        return latest?.kind === "released" ? latest.retryAt : this.#now;
      }
      case "due time":
        return dueAt(this.#journal, this.#settings) ?? this.#now;
      case "alarm":
        return (await subject.alarm()) ?? this.#now;
      default:
        return jump satisfies never;
    }
  }

  #resolved(command: Command<TokenChoice>): Command<string> {
    if (command.verb !== "alarm") return this.#resolvedCall(command);
    const { meanwhile, ...alarm }: Alarm<TokenChoice> = command;
    return { ...alarm, meanwhile: meanwhile && this.#resolvedCall(meanwhile) };
  }

  #resolvedCall(call: Call<TokenChoice>): Call<string> {
    if (!("token" in call)) return call;
    const token = this.#token(call.token, call.consumer);
    if (call.verb === "claim") this.#used.set(call.consumer, this.#usedBy(call.consumer).add(token));
    return { ...call, token };
  }

  #usedBy(consumer: string): Set<string> {
    return this.#used.get(consumer) ?? new Set();
  }

  #token(choice: TokenChoice, consumer: string): string {
    const latest = lifeOf(this.#journal, consumer)?.grant?.token;
    const others = [...this.#used.keys()].filter((other) => other !== consumer);
    const found = {
      latest,
      fresh: undefined,
      earlier: [...this.#usedBy(consumer)].findLast((token) => token !== latest),
      "another's": others.map((other) => lifeOf(this.#journal, other)?.grant?.token).find(Boolean),
    }[choice];
    return found ?? `token-${++this.#tokens}`;
  }
}

type Where = () => string;

/** `toEqual` takes its time; most of ten thousand values are the same to the letter. Answers the value's text. */
function expectSame(actual: unknown, expected: unknown, where: Where): string {
  const text = JSON.stringify(actual);
  if (text !== JSON.stringify(expected)) expect({ [where()]: actual }).toEqual({ [where()]: expected });
  return text;
}

function expectThat(holds: boolean, where: Where): void {
  if (!holds) expect.fail(where());
}

/** What a call may cost: a row for each event and each claim that it changed, and one for the watch. */
function rowsOf(added: readonly Fact[]): number {
  const rows = new Set(
    added.flatMap((fact) => {
      if ("consumer" in fact) return [`claim ${fact.consumer}`];
      if (isOfTheWatch(fact)) return ["watch"];
      return "type" in fact ? [`event ${fact.type}`] : [];
    }),
  );
  return rows.size;
}
