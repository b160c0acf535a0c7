import type { Logger } from 'pino';
import { eventLetter, eventView } from '../../core/operator-event.ts';
import * as operators from '../../db/accounts/operators.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { throttleLog } from '../../lib/log-throttle.ts';
import type { Letter } from '../../lib/mail.ts';
import type { Fetch } from '../../lib/outbound/fetch.ts';
import { repeat, type Repetition } from '../../lib/repeat.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { bundleUnknown } from '../../operations/operator-events.ts';
import { sendNotification } from '../../operations/requests/notification.ts';

/** Sends events to the operator: each to the webhook, in order per account, and some in letters. */

const checkMs = 1_000;
/** How often letters are sent, unknown outcomes become events, and the channels are stored. */
const roundMs = 30_000;
/** Longer than a delivery may take. After this time another process sends the event. */
const leaseSeconds = 60;
const retryMaxSeconds = 600;
/** Deliveries of one process at the same time. */
const sendersMax = 8;
const letterPauseSeconds = 300;
/** How many events a letter counts at most, and how many of them it names at most. */
const letterMax = 500;
const namedMax = 20;

/** The operator's webhook. */
export interface EventReceiver {
  url: string;
  /** Sign in to it. */
  headers?: Readonly<Record<string, string>>;
  /** The current secret first. */
  secrets: readonly string[];
}

export interface EventTask {
  /** Sends what is due, to the end. Rejects if the database is away. */
  runOnce(): Promise<void>;
  stop(): Promise<void>;
}

interface EventDeps {
  db: Database;
  log: Logger;
  receiver: EventReceiver | null;
  /** Calls the operator's address, which may be on a private network. */
  fetch: Fetch;
  webhookMs: number;
  /** Null if no mail server is set up. */
  mail: ((letter: Letter) => Promise<void>) | null;
  /** Base address of the web pages. */
  origin: () => string;
  /** False, for example on a restored copy: nothing is sent. */
  mayWork: () => boolean;
  /** False: events are sent only by `runOnce`. */
  running: boolean;
}

/** First tries to store the channels, because events are written only for stored channels. */
export async function sendEvents(deps: EventDeps): Promise<EventTask> {
  const task = new SendingTask(deps);
  await task.begin();
  return task;
}

class SendingTask implements EventTask {
  readonly #deps: EventDeps;
  readonly #channels: operatorEvents.Channel[];
  readonly #stopping = new AbortController();
  readonly #senders = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  readonly #warn: (err: unknown) => void;
  #rounds: Repetition | undefined;

  constructor(deps: EventDeps) {
    this.#deps = deps;
    this.#channels = [
      ...(deps.receiver === null ? [] : ['webhook' as const]),
      ...(deps.mail === null ? [] : ['letters' as const]),
    ];
    this.#warn = throttleLog((told) =>
      deps.log.warn(told, 'events to the operator could not be sent'),
    );
  }

  async begin(): Promise<void> {
    if (this.#channels.length === 0) return;
    await operatorEvents.noteChannels(this.#deps.db, this.#channels).catch(this.#warn);
    if (!this.#deps.running) return;
    if (this.#deps.receiver !== null)
      this.#timer = setInterval(() => this.#addSender(), checkMs).unref();
    this.#rounds = repeat(async () => {
      await this.#runRound().catch(this.#warn);
      return roundMs;
    }, roundMs);
  }

  async runOnce(): Promise<void> {
    if (this.#channels.length === 0) return;
    await this.#runRound();
    await this.#sendDue();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    await Promise.all([this.#rounds?.stop(), ...this.#senders]);
  }

  #mayWork(): boolean {
    return !this.#stopping.signal.aborted && this.#deps.mayWork();
  }

  async #runRound(): Promise<void> {
    const { db } = this.#deps;
    if (this.#stopping.signal.aborted) return;
    await operatorEvents.noteChannels(db, this.#channels);
    if (!this.#mayWork()) return;
    await bundleUnknown(db);
    await this.#writeLetter();
  }

  #addSender(): void {
    if (this.#senders.size >= sendersMax || !this.#mayWork()) return;
    const sender = this.#sendDue(() => this.#addSender())
      .catch(this.#warn)
      .finally(() => this.#senders.delete(sender));
    this.#senders.add(sender);
  }

  /** Sends events one by one until none is due. Calls `onFound` before each: more may be due. */
  async #sendDue(onFound = () => {}): Promise<void> {
    const { receiver, db } = this.#deps;
    while (receiver !== null && this.#mayWork()) {
      const claim = await operatorEvents.claimNext(db, leaseSeconds);
      if (claim === null) return;
      onFound();
      await this.#send(claim, receiver);
    }
  }

  async #send(claim: operatorEvents.EventClaim, receiver: EventReceiver): Promise<void> {
    const { db, log, fetch, webhookMs: timeoutMs } = this.#deps;
    const { id, failures } = claim;
    const notification = { ...receiver, id, body: JSON.stringify(eventView(claim)) };
    const { signal } = this.#stopping;
    const { status, error } = await sendNotification(notification, { fetch, timeoutMs }, signal);
    if (status !== null && error === null) return operatorEvents.noteSent(db, claim, status);
    const usual = Math.min(retryMaxSeconds, 5 * 2 ** Math.min(failures, 10));
    // A delivery that our own stop has cut off is repeated at once.
    const wake_seconds = signal.aborted ? 0 : usual * (0.75 + Math.random() / 2);
    const failure = { status, error: error ?? '', wake_seconds };
    log.info({ event_id: id, type: claim.type, failures, status, error }, 'event not accepted');
    await operatorEvents.noteFailure(db, claim, failure);
  }

  /** One letter to each operator. Without operators, or if no letter is sent, events stay due. */
  async #writeLetter(): Promise<void> {
    const { db, log, mail, origin } = this.#deps;
    if (mail === null || !(await operatorEvents.claimLetter(db, letterPauseSeconds))) return;
    const events = await operatorEvents.listMailDue(db, letterMax);
    const letter = eventLetter(events.slice(0, namedMax), events.length, origin());
    const to = await operators.listEmails(db);
    if (to.length === 0) return;
    const sent = await Promise.allSettled(to.map((each) => mail({ to: each, ...letter })));
    const failed = sent.filter((each) => each.status === 'rejected');
    for (const { reason: err } of failed)
      log.warn({ err }, 'an e-mail to an operator could not be sent');
    if (failed.length > 0 && failed.length === sent.length) return;
    await operatorEvents.noteLetter(
      db,
      events.map(({ id }) => id),
    );
  }
}
