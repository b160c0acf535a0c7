/** A law of the books, in SQL that shares no code with the code that writes them. */
export interface Law {
  name: string;
  says: string;
  /** Selects the rows that break the law; no rows means that the law is kept. */
  broken: string;
  /** Set if the law is of counters, which can be computed again: the column that names the row. */
  counter_of?: 'key_id' | 'account_id';
}
