import type { Metadata } from '../../core/request/metadata.ts';
import { isCallerId, requestOfNumber } from '../../core/request/call-number.ts';
import { of } from '../../lib/sql/columns.ts';
import type { Fragment } from '../../lib/sql/sql.ts';

/** The numbers of the call that made a request. */
export interface CallNumbers {
  /** True: ours is made of the request's id. Null: it was made before calls had such numbers. */
  numbered: boolean | null;
  caller_id: string | null;
}

/** The fields of `request_inputs` that a list shows. */
export interface InputSummary extends CallNumbers {
  metadata: Metadata | null;
  /** The input in one line; null: of a chat, or deleted. */
  prompt: string | null;
}

/** `InputSummary` as JSON; `id`: SQL of a request's id. A join could read the whole table. */
export const inputSummary = (id: string) =>
  of<InputSummary>(`(select json_build_object('metadata', i.metadata,
    'prompt', i.prompt, 'numbered', i.numbered, 'caller_id', i.caller_id)
    from request_inputs i where i.request_id = ${id})`);

/** Takes the fields of `asked` into the row. */
export function withAsked<Row extends { asked: InputSummary }>({ asked: fields, ...row }: Row) {
  return { ...row, ...fields };
}

/** If more accounts have sent a number, it finds only the requests of so many of them. */
const accountsMax = 200;

interface CalledSearch {
  /** The id of a request, our number of a call or of a repeat, or the caller's own. */
  number: string;
  /** Null: requests of all accounts. */
  account_id: string | null;
  /** The condition on a request's id, by the SQL of the id. */
  bounds: (id: string) => Fragment;
  sort: 'asc' | 'desc';
  most: number;
}

/** Ids of the requests that a number leads to, in order. */
export function idsOfNumber({ number, account_id, bounds, sort, most }: CalledSearch): Fragment {
  const own = requestOfNumber(number);
  return (bind) => {
    // A number that nobody can have sent may be more than PostgreSQL can read.
    const sent = `${bind(isCallerId(number) ? number : null)}::text`;
    const limit = `limit ${bind(most)}::int`;
    const account = account_id === null ? null : `${bind(account_id)}::uuid`;
    const within = account === null ? 'true' : `account_id = ${account}`;
    return `
    with recursive a as (${account === null ? accountsWith(sent) : `select ${account} as account_id`})
    select id from (
      select id from requests
      where id = ${bind(own)}::uuid and ${within} and ${bounds('id')(bind)}
      union
      select i.request_id from (select account_id from a limit ${accountsMax}) a
      cross join lateral (
        select request_id from request_inputs
        where caller_id = ${sent} and account_id = a.account_id and ${bounds('request_id')(bind)}
        order by request_id ${sort} ${limit}
      ) i
    ) found order by id ${sort} ${limit}`;
  };
}

/** The accounts that have sent this number. One index lookup finds each. */
const accountsWith = (number: string) => `
  (select account_id from request_inputs where caller_id = ${number} order by account_id limit 1)
  union all
  select (select i.account_id from request_inputs i
    where i.caller_id = ${number} and i.account_id > a.account_id order by i.account_id limit 1)
  from a where a.account_id is not null`;
