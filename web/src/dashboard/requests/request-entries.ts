import type { RequestEntry, RequestPage, Status } from '../../api-types.ts';
import { dayOf, midnight } from '../money/money-search.ts';

/** Merges live changes into a page of requests. */

/** The query of the list. Days are local: 2026-01-31. */
export interface Search {
  status?: Status | undefined;
  model?: string | undefined;
  key?: string | undefined;
  /** One pair: NAME=VALUE. */
  metadata?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  id?: string | undefined;
  /** The shown page; left out: the newest requests. */
  cursor?: string | undefined;
}

export const pageSize = 25;
export const statuses: Status[] = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];
export const filterNames = ['status', 'model', 'key', 'metadata', 'from', 'to', 'id'] as const;

/** A metadata pair, as it is typed and as the address keeps it. */
export const metadataForm = /^[^=]{1,64}=.{0,512}$/;

/** Reads the query and drops invalid fields. */
export function readSearch(given: Record<string, unknown>): Search {
  const text = (name: keyof Search, form = /^.{1,300}$/) => {
    const value = given[name];
    const written = typeof value === 'number' ? String(value) : value;
    return typeof written === 'string' && form.test(written) ? written : undefined;
  };
  const id = /^[0-9a-f-]{36}$/;
  return {
    status: statuses.find((status) => status === given.status),
    model: text('model'),
    key: text('key', id),
    metadata: text('metadata', metadataForm),
    from: dayOf(given.from),
    to: dayOf(given.to),
    id: text('id', /^[0-9a-fA-F-]{1,36}$/),
    cursor: text('cursor', /^-?[0-9a-f-]{36}$/),
  };
}

/** The parameters of the API call behind the list. */
export function queryOf({ model, key, from, to, ...rest }: Search) {
  return {
    ...rest,
    model_id: model,
    key_id: key,
    from: from && midnight(from),
    to: to && midnight(to, 1),
    limit: pageSize,
  };
}

/** Updates or removes changed entries, and adds new ones if this page shows the newest. */
export function placed(page: RequestPage, search: Search, changed: RequestEntry[]): RequestPage {
  let { data, next_cursor } = page;
  for (const entry of changed) {
    const at = data.findIndex(({ request_id }) => request_id === entry.request_id);
    const fits = matches(entry, search);
    if (at >= 0) data = fits ? data.with(at, entry) : data.toSpliced(at, 1);
    else if (fits && belongsHere(entry, page)) data = [...data, entry];
  }
  data = data.toSorted((a, b) => (a.request_id < b.request_id ? 1 : -1));
  if (data.length > pageSize) {
    data = data.slice(0, pageSize);
    next_cursor = data.at(-1)!.request_id;
  }
  return { ...page, data, next_cursor };
}

function belongsHere(entry: RequestEntry, page: RequestPage): boolean {
  const last = page.data.at(-1);
  const isBelow = last !== undefined && entry.request_id > last.request_id;
  return page.previous_cursor === null && (page.next_cursor === null || isBelow);
}

function matches(entry: RequestEntry, search: Search): boolean {
  const { status, model, key, metadata, from, to, id } = search;
  return (
    (!status || entry.status === status) &&
    (!model || entry.model_id === model) &&
    (!key || entry.key_id === key) &&
    (!metadata || hasPair(entry, metadata)) &&
    (!id || entry.request_id.startsWith(id.toLowerCase())) &&
    (!from || entry.created_at >= midnight(from)) &&
    (!to || entry.created_at < midnight(to, 1))
  );
}

function hasPair({ metadata }: RequestEntry, pair: string): boolean {
  const at = pair.indexOf('=');
  return metadata[pair.slice(0, at)] === pair.slice(at + 1);
}
