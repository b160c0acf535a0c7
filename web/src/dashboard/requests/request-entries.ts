import type { RequestEntry, RequestPage, Status } from '../../api-types.ts';
import type { AccountCalls } from '../../api.ts';
import { byRules, fits, oneOf, type AddressValues } from '../../address.ts';
import { dayOf, midnight } from '../money/money-search.ts';

/** Merges live changes into a page of requests. */

export const pageSize = 25;
export const statuses: Status[] = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];
/** The states of requests, and that of calls which made none. */
export const shownStates = [...statuses, 'REFUSED'] as const;
export const filterNames = [
  'status',
  'model',
  'key',
  'person',
  'metadata',
  'from',
  'to',
  'id',
  'code',
] as const;

/** A metadata pair, as it is typed and as the address keeps it. */
export const metadataForm = /^[^=]{1,64}=.{0,512}$/;
/** The beginning of an id, or a number of a call. */
export const idForm = /^[!-~]{1,128}$/;

type Code = NonNullable<AccountCalls['GET /v1/refusals']['query']['code']>;

/** The service refuses unknown codes; their list would be loaded with every page. */
function codeIn(value: unknown): Code | undefined {
  return fits(/^[a-z_]{1,100}$/)(value) as Code | undefined;
}

/** The query of the list, by which invalid fields are dropped. Days are local: 2026-01-31. */
const rules = {
  status: oneOf(shownStates),
  model: fits(/^.{1,300}$/),
  key: fits(/^[0-9a-f-]{36}$/),
  person: fits(/^[0-9a-f-]{36}$/),
  metadata: fits(metadataForm),
  from: dayOf,
  to: dayOf,
  id: fits(idForm),
  /** Filters refused calls only. */
  code: codeIn,
  /** The shown page; left out: the newest requests. */
  cursor: fits(/^-?[0-9a-f-]{36}$/),
};
export type Search = AddressValues<typeof rules>;
export const readSearch = byRules(rules);

/** The parameters of the API call behind the list. */
export function queryOf({ status, model, key, person, from, to, code: _, ...rest }: Search) {
  return {
    ...rest,
    status: statuses.find((each) => each === status),
    model_id: model,
    key_id: key,
    person_id: person,
    from: from && midnight(from),
    to: to && midnight(to, 1),
    limit: pageSize,
  };
}

/** The parameters of the call for refused calls. */
export function refusalQuery({ model, key, from, to, code }: Search) {
  return {
    code,
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
    if (at >= 0) data = matches(entry, search) ? data.with(at, entry) : data.toSpliced(at, 1);
    else if (matches(entry, search) && isNamed(entry, search.id) && belongsHere(entry, page))
      data = [...data, entry];
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

/** A change leaves these as they are, so an entry of the list stays named, by a repeat as well. */
function isNamed({ request_id, call_id, caller_id }: RequestEntry, id: string | undefined) {
  return !id || request_id.startsWith(id.toLowerCase()) || id === call_id || id === caller_id;
}

function matches(entry: RequestEntry, search: Search): boolean {
  const { status, model, key, person, metadata, from, to } = search;
  return (
    (!status || entry.status === status) &&
    (!model || entry.model_id === model) &&
    (!key || entry.key_id === key) &&
    (!person || entry.person_id === person) &&
    (!metadata || hasPair(entry, metadata)) &&
    (!from || entry.created_at >= midnight(from)) &&
    (!to || entry.created_at < midnight(to, 1))
  );
}

function hasPair({ metadata }: RequestEntry, pair: string): boolean {
  const at = pair.indexOf('=');
  return metadata[pair.slice(0, at)] === pair.slice(at + 1);
}
