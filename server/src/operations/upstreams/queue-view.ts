import { closedSeconds, type QueueState } from '../../db/requests/queue.ts';

/**
 * This process's view of the queues: waiting requests, how long accounts have waited, and pauses.
 * Each upstream's queue is read from the database at most four times a second, so positions may be
 * slightly out of date.
 */
export interface QueueView {
  /** Number of requests ahead in the queue; counts up to `positionMax`. */
  readPosition(upstream: string, requestId: string): Promise<number>;
  /** The queue position for a new request; the next call gets the position behind it. */
  enter(upstream: string, requestId: string): Promise<number>;
  /**
   * Why this upstream accepts no request for this model now, and for how long; null if it does
   * accept.
   */
  findClosed(wanted: QueueQuery): Promise<QueueClosure | null>;
}

export interface QueueClosure {
  /** For the log. */
  cause: string;
  seconds: number;
  /** Set if an operator stopped the model, with the operator's words to customers. */
  stopped?: { note: string | null };
}

interface QueueQuery {
  model_id: string;
  upstream: string;
  /** The upstream's own name of the model. */
  model: string;
  account_id: string;
}

export const positionMax = 1_000;
const freshMs = 250;
/** How long an account's waiting time is kept. It is read only if a queue is long or slow. */
const waitedFreshMs = 2_000;

interface View {
  at: number;
  state: QueueState;
  /** Ids of requests that this process has accepted since `at`, in order. */
  entered: string[];
  waited: WaitedSeconds;
}

/** How long the oldest request of an account has waited, for accounts looked up since `at`. */
interface WaitedSeconds {
  at: number;
  byAccount: Map<string, Promise<number>>;
}

export function createQueueView(
  read: (upstreams: string[], limit: number) => Promise<QueueState[]>,
  waitedSeconds: (upstream: string, accountId: string) => Promise<number>,
  queueAgeSeconds: number,
): QueueView {
  const views = new Map<string, View>();
  const reading = new Map<string, Promise<View>>();

  function view(upstream: string): Promise<View> | View {
    const known = views.get(upstream);
    if (known && performance.now() - known.at < freshMs) return known;
    let promise = reading.get(upstream);
    if (!promise) {
      promise = load(upstream).finally(() => reading.delete(upstream));
      reading.set(upstream, promise);
    }
    return promise;
  }

  async function load(upstream: string): Promise<View> {
    const [state] = await read([upstream], positionMax);
    const at = performance.now();
    const known = views.get(upstream)?.waited;
    const waited = known && at - known.at < waitedFreshMs ? known : { at, byAccount: new Map() };
    const loaded = { at, state: state!, entered: [], waited };
    views.set(upstream, loaded);
    return loaded;
  }

  function waitedAt({ waited: { byAccount } }: View, upstream: string, account: string) {
    const known = byAccount.get(account);
    if (known) return known;
    const asked = waitedSeconds(upstream, account);
    byAccount.set(account, asked);
    asked.catch(() => byAccount.delete(account));
    return asked;
  }

  return {
    async readPosition(upstream, requestId) {
      const { state, entered } = await view(upstream);
      return Math.min(
        positionMax,
        countBelow(state.ids, requestId) + countBelow(entered, requestId),
      );
    },
    async enter(upstream, requestId) {
      const { state, entered } = await view(upstream);
      const position = Math.min(positionMax, state.ids.length + entered.length);
      entered.splice(countBelow(entered, requestId), 0, requestId);
      return position;
    },
    async findClosed({ model_id, upstream, model, account_id }) {
      const current = await view(upstream);
      const { state } = current;
      const note = state.stopped_models[model_id];
      if (note !== undefined)
        return { cause: `${model_id}: stopped by the operator`, seconds: 0, stopped: { note } };
      if (state.closed)
        return { cause: `${upstream}: closed by the operator`, seconds: closedSeconds };
      const seconds = Math.max(state.paused_seconds, state.paused_models[model] ?? 0);
      if (seconds > 0) return { cause: `${upstream} is paused after failures`, seconds };
      // If the queue is longer than the view holds, the view may lack this account's requests.
      const mayBeOld = state.oldest_seconds > queueAgeSeconds || state.ids.length === positionMax;
      // Claims alternate between accounts, so another account's backlog does not delay this one.
      if (mayBeOld && (await waitedAt(current, upstream, account_id)) > queueAgeSeconds)
        return {
          cause: `${upstream} has jobs of this account that have waited too long`,
          seconds: 30,
        };
      return null;
    },
  };
}

/**
 * The number of these sorted ids that come before `id`. Uses bisection, because ten thousand
 * streams may ask within one second.
 */
function countBelow(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
