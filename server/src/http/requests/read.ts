import { ApiError } from '../../core/errors.ts';
import * as margins from '../../db/requests/margins.ts';
import { listNewestOf } from '../../db/requests/deliveries.ts';
import { listAttempts } from '../../db/requests/request-lists.ts';
import { findOutputs } from '../../db/requests/requests.ts';
import { findCharge } from '../../ledger/bookings.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { operatorEndpoint, sessionEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import * as s from '../schemas/schema.ts';
import {
  detailOf,
  operatorDetailOf,
  OperatorRequest,
  RequestDetail,
  type RelatedRows,
} from './views.ts';
import type { RequestDeps } from '../deps.ts';

async function readRelated(db: Database, id: string): Promise<RelatedRows> {
  const [attempts, deliveries] = await Promise.all([listAttempts(db, id), listNewestOf(db, id)]);
  return { attempts, deliveries };
}

/** GET /requests/:request_id: everything about one request of the account. */
export const read = sessionEndpoint(
  { params: ['request_id'], reply: RequestDetail },
  async ({ req, params }, deps: RequestDeps) => {
    const id = requireId(params.request_id);
    const row = await deps.operations.card(id);
    if (row === null || row.account_id !== req.account_id) throw new ApiError('not_found');
    const { db, queue } = deps;
    const [beside, status, outputs, queue_position, charge] = await Promise.all([
      readRelated(db, id),
      deps.operations.status(id),
      findOutputs(db, [id]),
      row.status === 'IN_QUEUE' ? queue.readPosition(row.upstream, id) : null,
      findCharge(db, id),
    ]);
    const refunded_usd_micro = charge?.refunded ?? 0n;
    const progress = status?.progress ?? null;
    const more = { outputs, progress, queue_position, refunded_usd_micro };
    return detailOf(row, { ...beside, ...more }, deps.links);
  },
);

/** GET /operator/requests/{request_id}: a request of any account. */
export const readAny = operatorEndpoint(
  { params: ['request_id'], reply: OperatorRequest },
  async ({ params }, { db }) => {
    const id = requireId(params.request_id);
    const [row, beside] = await Promise.all([margins.findFull(db, id), readRelated(db, id)]);
    if (row === null) throw new ApiError('not_found');
    return operatorDetailOf(row, beside);
  },
);

/**
 * GET /operator/requests/{request_id}/input: a separate call, so that an operator sees an
 * input only on purpose.
 */
export const readInput = operatorEndpoint(
  { params: ['request_id'], reply: s.object({ input: s.nullable(s.anything()) }) },
  async ({ params }, { db }) => {
    const found = await margins.findInput(db, requireId(params.request_id));
    if (found === null) throw new ApiError('not_found');
    return found;
  },
);

/** Existing requests, each with its progress and its outputs. */
export async function readCards(ids: string[], { db, operations }: RequestDeps) {
  const [cards, states] = await Promise.all([
    Promise.all(ids.map(operations.card)),
    Promise.all(ids.map(operations.status)),
  ]);
  // After the cards, so that a completed one has its outputs.
  const outputs = await findOutputs(db, ids);
  return cards.map((row, at) => ({
    row: row!,
    progress: states[at]?.progress ?? null,
    outputs: outputs.filter(({ request_id }) => request_id === ids[at]),
  }));
}
