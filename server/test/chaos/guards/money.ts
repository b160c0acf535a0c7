import type { Guard } from './guard.ts';

const advance = 'src/operations/requests/advance.ts';
const ledger = 'src/ledger/ledger.ts';
const schema = 'migrations/0001_init.sql';

export const money: Guard[] = [
  {
    guards: 'a reservation is covered by the balance',
    file: ledger,
    edits: [['    if (available(balance) < hold.amount) return false;\n', '']],
    test: 'test/ledger/books.test.ts',
    name: 'a refused reservation changes nothing',
  },
  {
    guards: 'balances are locked while they are decided on',
    file: ledger,
    edits: [['order by account_id for update', 'order by account_id']],
    test: 'test/operations/submit.test.ts',
    name: 'three hundred submits of three accounts',
  },
  {
    guards: 'the books take no charge above its reservation',
    file: ledger,
    edits: [['(charge < 0n || charge > reserved)', '(charge < 0n)']],
    test: 'test/ledger/books.test.ts',
    name: 'out of 50',
  },
  {
    guards: 'a charge above its reservation spoils nothing for the others',
    file: advance,
    edits: [['(charge < 0n || charge > reserved)', '(charge < 0n)']],
    test: 'test/operations/advance.test.ts',
    name: 'each get their own verdict, in order',
  },
  {
    guards: 'the price of a delivery is capped by the quote',
    file: 'src/core/price/price.ts',
    edits: [
      ['return spent < quote.price_usd_micro ? spent : quote.price_usd_micro;', 'return spent;'],
    ],
    test: 'src/core/price/price.test.ts',
    name: 'charge',
  },
  {
    guards: 'a broken-off chat without output is free',
    file: 'src/core/chat/chat-bill.ts',
    edits: [["(end === 'broken' || finishedInError(completion))", 'completion === null']],
    test: 'test/http/chat-stream.test.ts',
    name: 'zero output with an error finish is free',
  },
  {
    guards: 'a transaction that did not commit says so',
    file: 'src/lib/sql/sql.ts',
    edits: [[`if (command !== 'COMMIT') throw`, `if (command === '') throw`]],
    test: 'test/db/sql.test.ts',
    name: 'whose failure was swallowed does not pass for committed',
  },
  {
    guards: 'a call that failed may be made again under its key',
    file: advance,
    edits: [[`frees_key: ending.to === 'FAILED' && !ending.opens_job`, 'frees_key: false']],
    test: 'test/http/chat-repeat.test.ts',
    name: 'a call that failed frees its key',
  },
  {
    guards: 'a deposit is booked once for its reference',
    file: 'src/operations/accounts/deposit.ts',
    edits: [['      if (earlier) {', '      if (earlier && earlier.amount !== amount) {']],
    test: 'test/ledger/deposit.test.ts',
    name: 'ten at once are booked once',
  },
  {
    guards: 'a monthly limit counts what is reserved',
    file: 'src/ledger/usage.ts',
    edits: [['row.pending_usd_micro + row.posted_usd_micro', 'row.posted_usd_micro']],
    test: 'test/operations/limits.test.ts',
    name: 'is kept to the micro',
  },
];

/** Laws that the schema enforces, whichever code writes. */
export const laws: Guard[] = [
  {
    guards: 'a reserve is settled once, by the schema',
    file: schema,
    edits: [['create unique index transfers_pending on', 'create index transfers_pending on']],
    test: 'test/ledger/laws.test.ts',
    name: 'a transfer is refused',
  },
  {
    guards: 'nobody is below zero, by the schema',
    file: schema,
    edits: [['check (credits_posted - debits_posted - debits_pending >= 0)', 'check (true)']],
    test: 'test/ledger/laws.test.ts',
    name: 'a balance is refused',
  },
  {
    guards: 'transfers are append-only, by the schema',
    file: schema,
    edits: [['before update or delete or truncate on transfers', 'before truncate on transfers']],
    test: 'test/ledger/laws.test.ts',
    name: 'transfers are never changed',
  },
  {
    guards: 'an open request has a time when it is due, by the schema',
    file: schema,
    edits: [
      [`check (status not in ('IN_QUEUE', 'IN_PROGRESS') or wake_at is not null)`, 'check (true)'],
    ],
    test: 'test/ledger/laws.test.ts',
    name: 'a request is refused',
  },
  {
    guards: 'an Idempotency-Key makes one request, by the schema',
    file: schema,
    edits: [
      ['create unique index request_inputs_idempotency', 'create index request_inputs_idempotency'],
    ],
    test: 'test/ledger/laws.test.ts',
    name: 'twice under one idempotency key',
  },
];
