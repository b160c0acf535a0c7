import { useQueryClient, type InfiniteData } from '@tanstack/react-query';
import { useCallback, useEffect, useEffectEvent, useState } from 'react';
import type { MediaFile } from '../../../../client/src/types.ts';
import { pause } from '../../../../client/src/scope.ts';
import { isFinal } from '../../../../client/src/watch.ts';
import { ApiFailure, call, send } from '../../api.ts';
import type {
  Kind,
  QueuedRequest,
  RequestCard,
  RequestList,
  RequestStatus,
} from '../../api-types.ts';
import { useAccount, useAccountApi, useAccountPath } from '../../session.tsx';
import { eventsOf } from '../../../../client/src/events.ts';
import { fromJson } from '../../../../client/src/unknown.ts';
import { chunksOfStream, newKey } from '../../../../client/src/runtime.ts';
import type { Input } from '../form/draft.ts';
import { isRefused, useKept, type Press } from '../form/presses.ts';
import { useMoneyMoved } from '../price.ts';
import { useAccountKey, useAccountPages, useAccountQuery } from '../../queries.ts';
import { isMediaFile } from '../../../../client/src/outputs.ts';

/** Requests to a model: submit, watch, list. The service stores them. */

export type Run = RequestList['data'][number];
export type Card = RequestCard;
export type Medium = MediaFile;
export type StatusNow = Pick<
  RequestStatus,
  'request_id' | 'status' | 'queue_position' | 'progress' | 'error'
>;

const pageSize = 12;
const pollMs = 1_500;
/**
 * Maximum number of event streams at once: a browser opens few connections to one host. Other runs
 * are polled.
 */
const streamsMax = 2;
/** The pause before each attempt to submit, in milliseconds. */
const tries = [0, 700, 2_000, 5_000];

const runsOf = (model_id: string) => ({ query: { model_id, limit: pageSize } });

/** The account's requests to the model, newest first. */
export function useRuns(model_id: string) {
  return useAccountPages('GET /v1/requests', runsOf(model_id));
}

function useRunsKey(model_id: string) {
  return useAccountKey()('GET /v1/requests', runsOf(model_id));
}

/** Adds a request to the list, or updates it. */
function useNote(model_id: string) {
  const queries = useQueryClient();
  const key = useRunsKey(model_id);
  const place = JSON.stringify(key);
  return useCallback(
    (run: Partial<Run> & { request_id: string }) =>
      queries.setQueryData<InfiniteData<RequestList>>(key, (before) => {
        if (!before) return before;
        const isKnown = before.pages.some(({ data }) => data.some((each) => isSame(each, run)));
        const pages = before.pages.map((page, i) => {
          const data = page.data.map((each) => (isSame(each, run) ? { ...each, ...run } : each));
          // A request that is not in the list comes from a submit, which gives all its fields.
          return { ...page, data: isKnown || i > 0 ? data : [run as Run, ...data] };
        });
        return { ...before, pages };
      }),
    // `place` stands for `key`, which is a new list at each render.
    [queries, place],
  );
}

function isSame(a: { request_id: string }, b: { request_id: string }): boolean {
  return a.request_id === b.request_id;
}

/** Submits and their states. `onPriced` is called if the fixed price differs from the quote. */
export function usePresses(
  model_id: string,
  kind: Kind,
  onPriced: (shown: string, fixed: string) => void,
) {
  const { account_id } = useAccount();
  const [presses, setPresses] = useKept(`farebox-presses ${account_id} ${model_id}`);
  const path = useAccountPath();
  const note = useNote(model_id);
  const queries = useQueryClient();
  const runsKey = useRunsKey(model_id);
  const moneyMoved = useMoneyMoved();

  // Refusals are dropped when the user leaves the page: they have been read.
  useEffect(
    () => () => setPresses((all) => all.filter((press) => !isRefused(press))),
    [setPresses],
  );
  const change = (key: string, with_: Partial<Press> | null) =>
    setPresses((all) =>
      all.flatMap((each) =>
        each.key !== key ? [each] : with_ === null ? [] : [{ ...each, ...with_ }],
      ),
    );

  const deliver = async (press: Press) => {
    change(press.key, { isSending: true, error: null });
    try {
      const submitted = await submit(path(`/v1/queue/${inPath(model_id)}`), press);
      note({
        ...submitted,
        model_id,
        kind,
        charged_usd_micro: null,
        error_code: null,
        created_at: new Date().toISOString(),
        completed_at: null,
      });
      // If the list is not loaded, load it.
      if (!queries.getQueryData(runsKey)) void queries.invalidateQueries({ queryKey: runsKey });
      change(press.key, null);
      const { shown_usd_micro: shown } = press;
      if (shown !== undefined && shown !== submitted.quoted_usd_micro)
        onPriced(shown, submitted.quoted_usd_micro);
    } catch (error) {
      change(press.key, { isSending: false, error });
    }
    moneyMoved();
  };

  return {
    presses,
    press: (input: Input, shown_usd_micro: string | undefined) => {
      const press = {
        key: `studio-${newKey()}`,
        input,
        shown_usd_micro,
        error: null,
        isSending: true,
      };
      setPresses((all) => [press, ...all]);
      void deliver(press);
    },
    again: (press: Press) => void deliver(press),
    drop: ({ key }: Press) => change(key, null),
  };
}

/** Submits, and repeats that if the reply was lost: the Idempotency-Key makes it harmless. */
async function submit(address: string, { key, input }: Press): Promise<QueuedRequest> {
  for (const [i, pauseMs] of tries.entries()) {
    if (pauseMs > 0) await pause(pauseMs);
    try {
      const headers = { 'idempotency-key': key };
      return await call<QueuedRequest>(address, { body: input, headers });
    } catch (error) {
      const isLost = !(error instanceof ApiFailure) || [500, 502, 504].includes(error.status);
      if (!isLost || i === tries.length - 1) throw error;
    }
  }
  throw new Error('unreachable');
}

/** A model id in a path: its slashes stay. */
export function inPath(model_id: string): string {
  return model_id.split('/').map(encodeURIComponent).join('/');
}

let streams = 0;

/** The live status of an unfinished run. When the run ends, the list is updated. */
export function useStatus(run: Run): StatusNow {
  const [now, setNow] = useState<StatusNow>(run);
  const path = useAccountPath();
  const note = useNote(run.model_id);
  const moneyMoved = useMoneyMoved();
  const queries = useQueryClient();
  const key = useAccountKey();
  const { request_id } = run;
  const address = path(`/v1/requests/${request_id}`);
  const isOver = isFinal(run);
  const hear = useEffectEvent((status: StatusNow) => {
    setNow(status);
    if (!isFinal(status)) return;
    moneyMoved();
    void call<Card>(address).then(
      (card) => {
        const { status: final, charged_usd_micro, error, completed_at } = card;
        const error_code = error?.code ?? null;
        queries.setQueryData(key('GET /v1/requests/:request_id', cardOf(request_id)), card);
        note({ request_id, status: final, charged_usd_micro, error_code, completed_at });
      },
      () => note({ request_id, status: status.status }),
    );
  });

  useEffect(() => {
    if (isOver) return;
    const stop = new AbortController();
    void watch(`${address}/status`, stop.signal, (status) => hear(status));
    return () => stop.abort();
  }, [address, isOver]);
  return isOver ? run : now;
}

async function watch(
  address: string,
  signal: AbortSignal,
  told: (status: StatusNow) => void,
): Promise<void> {
  let last: StatusNow | undefined;
  const tell = (status: StatusNow) => {
    last = status;
    if (!signal.aborted) told(status);
  };
  const isDone = () => signal.aborted || (last !== undefined && isFinal(last));
  while (!isDone()) {
    try {
      if (streams < streamsMax) await stream(address, signal, tell);
      else tell(await call<StatusNow>(address, { signal }));
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 404) return;
    }
    if (!isDone()) await pause(pollMs);
  }
}

async function stream(
  address: string,
  signal: AbortSignal,
  told: (status: StatusNow) => void,
): Promise<void> {
  streams++;
  try {
    const reply = await send(`${address}/stream`, { signal });
    for await (const { event, data } of eventsOf(chunksOfStream(reply.body!))) {
      if (event === 'status') told(fromJson(data));
    }
  } catch (error) {
    // If the service has reached its limit of streams, polls instead.
    if (error instanceof ApiFailure && error.status === 503)
      told(await call<StatusNow>(address, { signal }));
    else throw error;
  } finally {
    streams--;
  }
}

export function useCancel(run: Run) {
  const api = useAccountApi();
  const note = useNote(run.model_id);
  const moneyMoved = useMoneyMoved();
  return async () => {
    const { request_id } = run;
    await api('POST /v1/requests/:request_id/cancel', { params: { request_id } });
    note({ request_id, status: 'CANCELLED', charged_usd_micro: '0' });
    moneyMoved();
  };
}

/** A request with its input and error. */
export function useCard(request_id: string | undefined) {
  return useAccountQuery(
    'GET /v1/requests/:request_id',
    cardOf(request_id),
    // The input never changes, and `useStatus` updates the rest when the request ends.
    { enabled: request_id !== undefined, staleTime: Infinity },
  );
}

function cardOf(request_id: string | undefined) {
  return { params: { request_id: request_id! } };
}

export interface Output {
  media: Medium[];
  /** Other fields of the output. */
  fields: Record<string, unknown>;
}

/** The output of a completed request; `expired` once the service has deleted it. */
export function useOutput(run: Pick<Run, 'request_id' | 'status'> | undefined) {
  return useAccountQuery(
    'GET /v1/requests/:request_id/response',
    { params: { request_id: run?.request_id ?? '' } },
    { enabled: run?.status === 'COMPLETED', staleTime: Infinity, select: outputOf },
  );
}

export function outputOf(response: Record<string, unknown>): Output {
  const media: Medium[] = [];
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(response)) {
    const list = Array.isArray(value) ? value : [value];
    if (list.length > 0 && list.every(isMediaFile)) media.push(...list);
    else if (value !== null) fields[name] = value;
  }
  return { media, fields };
}

export function isExpired(error: unknown): boolean {
  return error instanceof ApiFailure && error.status === 410;
}

const shownKinds = ['image', 'video', 'audio'] as const;

/** `image`, `video`, `audio`; null for other types. */
export function shownAs({ content_type }: Pick<Medium, 'content_type'>) {
  return shownKinds.find((kind) => content_type.startsWith(`${kind}/`)) ?? null;
}
