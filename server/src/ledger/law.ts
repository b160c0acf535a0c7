import type { LawScope } from './scope.ts';

/** A law of the books, in SQL that shares no code with the code that writes them. */
export interface Law {
  name: string;
  says: string;
  /**
   * Which part of all rows it can be proved over: spans of transfers, stretches of requests, of
   * accounts or of seals. `all`: always over all rows, which are few.
   */
  by: 'all' | 'transfers' | 'requests' | 'accounts' | 'seals';
  /** Selects the rows that break the law; no rows means that the law is kept. */
  broken: (scope: LawScope) => string;
  /** Set if the law is of counters, which can be computed again: the column that names the row. */
  counter_of?: 'key_id' | 'account_id';
}

/**
 * Selects the accounts that a table with an index on `account_id` has rows of, by one look into
 * the index for each.
 */
export function accountsIn(table: string): string {
  return `with recursive known as (
      (select account_id from ${table} order by account_id limit 1)
      union all
      select (select t.account_id from ${table} t where t.account_id > k.account_id
        order by t.account_id limit 1)
      from known k where k.account_id is not null
    ) select account_id from known where account_id is not null`;
}
