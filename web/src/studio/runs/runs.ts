import { useEffect } from 'react';
import type { LineOutput, MediaFile } from '../../../../client/src/types.ts';
import { pause } from '../../../../client/src/scope.ts';
import { newKey } from '../../../../client/src/runtime.ts';
import { call } from '../../api.ts';
import type {
  QueuedRequest,
  RequestCard,
  RequestDetail,
  RequestEntry,
  RequestOutput,
} from '../../api-types.ts';
import { usePage } from '../../dashboard/requests/requests-data.ts';
import { useReload } from '../../queries.ts';
import { useAccount, useAccountPath } from '../../session.tsx';
import type { Input } from '../form/draft.ts';
import {
  isLost,
  isRefused,
  useStoredPresses,
  type PendingSubmit,
} from '../form/pending-submits.ts';

/** Runs of models: submits, and the requests that they become. The service stores those. */

export type Card = RequestCard;
export type Medium = MediaFile & Partial<Pick<LineOutput, 'thumbnail_url'>>;
export type KeptOutput = RequestOutput & { url: string };

/** The pause before each attempt to submit, in milliseconds. */
const tries = [0, 700, 2_000, 5_000];

/** The account's newest requests to the model, updated live; undefined while loading. */
export function useRuns(model_id: string) {
  const page = usePage({ model: model_id });
  const runs: RequestEntry[] | undefined = page.data?.data;
  return {
    runs,
    hasMore: (page.data?.next_cursor ?? null) !== null,
    error: page.error,
    retry: page.refetch,
  };
}

interface Events {
  /** The price that was fixed differs from the one that was shown. */
  onPriced: (shown: string, fixed: string) => void;
  onAccepted: (model_id: string, request_id: string) => void;
}

/** Submits of one form and their states, newest first. `place`: the form's name in this tab. */
export function usePendingSubmits(place: string, { onPriced, onAccepted }: Events) {
  const { account_id } = useAccount();
  const [presses, setPresses] = useStoredPresses(`farebox-presses ${account_id} ${place}`);
  const path = useAccountPath();
  const reload = useReload();

  // Refusals are dropped when the user leaves the page: they have been read.
  useEffect(
    () => () => setPresses((all) => all.filter((press) => !isRefused(press))),
    [setPresses],
  );
  const change = (key: string, with_: Partial<PendingSubmit> | null) =>
    setPresses((all) =>
      all.flatMap((each) =>
        each.key !== key ? [each] : with_ === null ? [] : [{ ...each, ...with_ }],
      ),
    );

  const deliver = async (press: PendingSubmit) => {
    change(press.key, { isSending: true, error: null });
    try {
      const submitted = await submit(path(`/v1/queue/${inPath(press.model_id)}`), press);
      change(press.key, null);
      onAccepted(press.model_id, submitted.request_id);
      const { shown_usd_micro: shown } = press;
      if (shown !== undefined && shown !== submitted.quoted_usd_micro)
        onPriced(shown, submitted.quoted_usd_micro);
    } catch (error) {
      change(press.key, { isSending: false, error });
    }
    void reload('GET /requests', 'GET /studio/allowance', 'GET /balance');
  };

  return {
    presses,
    press: (model_id: string, input: Input, shown_usd_micro: string | undefined) => {
      const press: PendingSubmit = {
        key: `studio-${newKey()}`,
        model_id,
        input,
        shown_usd_micro,
        error: null,
        isSending: true,
      };
      setPresses((all) => [press, ...all]);
      void deliver(press);
    },
    again: (press: PendingSubmit) => void deliver(press),
    drop: ({ key }: PendingSubmit) => change(key, null),
  };
}

/** Submits, and repeats that if the reply was lost: the Idempotency-Key makes it harmless. */
async function submit(address: string, { key, input }: PendingSubmit): Promise<QueuedRequest> {
  for (const [i, pauseMs] of tries.entries()) {
    if (pauseMs > 0) await pause(pauseMs);
    try {
      const headers = { 'idempotency-key': key };
      return await call<QueuedRequest>(address, { body: input, headers });
    } catch (error) {
      if (!isLost(error) || i === tries.length - 1) throw error;
    }
  }
  throw new Error('unreachable');
}

/** A model id in a path: its slashes stay. */
export function inPath(model_id: string): string {
  return model_id.split('/').map(encodeURIComponent).join('/');
}

export function keptOutputsOf({ outputs }: Pick<RequestDetail, 'outputs'>): KeptOutput[] {
  return outputs.filter((each): each is KeptOutput => each.url !== null);
}

/** The input's prompt; null if it has none. */
export function promptOf({ input }: Pick<RequestDetail, 'input'>): string | null {
  const { prompt } = input;
  return typeof prompt === 'string' && prompt !== '' ? prompt : null;
}

const shownKinds = ['image', 'video', 'audio'] as const;

/** `image`, `video`, `audio`; null for other types. */
export function shownAs({ content_type }: Pick<Medium, 'content_type'>) {
  return shownKinds.find((kind) => content_type.startsWith(`${kind}/`)) ?? null;
}
