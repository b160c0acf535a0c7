import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { callNumber } from '../../src/core/request/call-number.ts';
import * as finding from '../../src/db/accounts/account-search.ts';
import * as accounts from '../../src/db/accounts/accounts.ts';
import * as files from '../../src/db/accounts/files.ts';
import * as keys from '../../src/db/accounts/keys.ts';
import * as callers from '../../src/db/accounts/callers.ts';
import * as links from '../../src/db/accounts/links.ts';
import * as members from '../../src/db/accounts/members.ts';
import * as people from '../../src/db/accounts/people.ts';
import * as margins from '../../src/db/requests/margins.ts';
import * as depositAddresses from '../../src/db/deposits/addresses.ts';
import * as chainDeposits from '../../src/db/deposits/chain-deposits.ts';
import * as depositLists from '../../src/db/deposits/deposit-lists.ts';
import * as sightings from '../../src/db/deposits/sightings.ts';
import * as operatorEvents from '../../src/db/operator-events.ts';
import { readOverdue } from '../../src/db/retention.ts';
import * as operatorKeys from '../../src/db/operator-keys.ts';
import * as operatorLog from '../../src/db/operator-log.ts';
import * as queue from '../../src/db/requests/queue.ts';
import * as upstreamStates from '../../src/db/upstreams/states.ts';
import * as library from '../../src/db/requests/library.ts';
import * as lines from '../../src/db/requests/request-pages.ts';
import * as deliveries from '../../src/db/requests/deliveries.ts';
import * as openRequests from '../../src/db/requests/open-requests.ts';
import * as pace from '../../src/db/requests/start-latency.ts';
import * as requests from '../../src/db/requests/requests.ts';
import * as endedRequests from '../../src/db/requests/ended-requests.ts';
import * as requestLists from '../../src/db/requests/request-lists.ts';
import * as requestSteps from '../../src/db/requests/request-steps.ts';
import * as unknownOutcomes from '../../src/db/requests/unknown-outcomes.ts';
import { bookCosts } from '../../src/db/accounts/revenue.ts';
import * as refusals from '../../src/db/accounts/refusals.ts';
import * as spend from '../../src/db/accounts/spend.ts';
import { readUsageOf, type AccountUsageQuery } from '../../src/db/accounts/usage-sums.ts';
import * as usageDays from '../../src/db/accounts/usage-days.ts';
import * as vouchers from '../../src/db/accounts/vouchers.ts';
import { shownBonuses } from '../../src/ledger/bonuses.ts';
import { openBooks } from '../../src/ledger/ledger.ts';
import { findCharge, findReference } from '../../src/ledger/bookings.ts';
import {
  depositSums,
  movedSince,
  movements,
  movementsOf,
  seqsBetween,
  statement,
} from '../../src/ledger/statement.ts';
import { movementTotals } from '../../src/ledger/transfer-sums.ts';
import { transferPage } from '../../src/ledger/transfers.ts';
import { openUsage } from '../../src/ledger/usage.ts';
import { runTimes } from '../../src/db/requests/run-times.ts';
import { firstId, newId } from '../../src/lib/id.ts';
import {
  rawSql,
  sql,
  type Connection,
  type Database,
  type Statement,
  type Transaction,
} from '../../src/lib/sql/sql.ts';
import { before, withDatabase } from '../kit/with-database.ts';
import { acrossAccounts } from './across-accounts.ts';
import { blocks, executeWith, planFor, planForAll, rowsRead, type Node } from '../kit/plans.ts';

/**
 * Frequent statements must not get slower with every request ever made: with many rows in the
 * tables, none of their plans reads a whole one. PostgreSQL plans a prepared statement either for
 * its values or once for all values, as it sees fit, so both plans count.
 */

/** A usual account, and an account with a quarter of all rows. */
let sample: Record<
  | 'account'
  | 'key'
  | 'request'
  | 'file'
  | 'reference'
  | 'idempotency_key'
  | 'big'
  | 'middle'
  | 'midkey'
  | 'person',
  string
> & { hash: Buffer };

const { db } = withDatabase();
before(async () => {
  await fill();
  [sample] = (await db.run(sql`
    select r.account_id as account, r.key_id as key, r.id as request, k.hash, i.idempotency_key, t.reference, f.id as file,
      uid(1, 7) as big, uid(3, 10000) as middle, uid(2, 10000) as midkey, uid(1, 10000) as person
    from requests r join keys k on k.id = r.key_id join request_inputs i on i.request_id = r.id
    join transfers t on t.account_id = r.account_id and t.reference is not null
    join files f on f.account_id = r.account_id where i.idempotency_key is not null limit 1`)) as [
    typeof sample,
  ];
  assert.ok(sample);
});

/** The time of request n, which its id contains. */
const madeAt = (n: number) => n * 65_536 + 3;

const uuid = '01890f5e-27c1-7d3a-9e4f-0123456789ab';
/** A page of the API's list. */
const listed = (
  c: Connection,
  { below_id = null, ...more }: Partial<lines.PageFilter & lines.PageBounds>,
) =>
  requestLists.list(
    c,
    { ...lines.anyRequest, ...more },
    { below_id, limit: 20, look: more.look ?? 1_000 },
  );

const pageFilter = (account_id: string) => ({
  account_id,
  status: null,
  model_id: null,
  key_id: null,
  from_ms: null,
  to_ms: null,
  first_id: null,
  last_id: null,
});
const libraryBounds = { below_id: null, limit: 61, look: 1_000 };
const inLibrary = (more: Partial<library.LibrarySearch>) => ({
  ...pageFilter(sample.account),
  status: 'COMPLETED' as const,
  library: { words: [], favorites: false, ...more },
});
const today = Math.floor(Date.now() / 86_400_000);
const dayAt = (days: number) => new Date((today + days) * 86_400_000).toISOString().slice(0, 10);
const usage = (more: Pick<AccountUsageQuery, 'account_id'> & Partial<AccountUsageQuery>) => ({
  by: ['day', 'model', 'key'] as const,
  names: ['customer', 'env'],
  from: dayAt(-30),
  to: dayAt(1),
  model_id: null,
  key_id: null,
  metadata: null,
  above: null,
  limit: 101,
  isStored: false,
  ...more,
});
const search = { words: null, only: null, below_id: null, limit: 26 };
const logged = { account_id: null, by_email: null, action: null, below_id: null, limit: 51 };
const booked = {
  kinds: [],
  from_seq: 1n,
  below_seq: 1_000_000n,
  from: null,
  to: null,
  limit: 50,
} as const;

const doubts = { upstream: null, since: null, below: null, limit: 26 };
const bothOutcomes = () => [
  { request_id: sample.request, attempt: 0 },
  { request_id: uuid, attempt: 1 },
];
const openFilter: openRequests.OpenFilter = {
  upstream: null,
  status: null,
  account_id: null,
  until_id: null,
  above_id: null,
  limit: 51,
  due_seconds: 900,
};

/** Tables that grow with use; reading all of another table is fine. */
const growing = new Set([
  'accounts',
  'balances',
  'transfers',
  'keys',
  'key_usage',
  'key_windows',
  'requests',
  'request_inputs',
  'metadata_pairs',
  'favorites',
  'request_results',
  'attempts',
  'outputs',
  'webhook_deliveries',
  'files',
  'operator_log',
  'vouchers',
  'spend_days',
  'spend_rollups',
  'usage_days',
  'usage_rollups',
  'refused_calls',
  'refusals',
  'people',
  'members',
  'verifications',
  'deposit_addresses',
  'chain_deposits',
  'operator_events',
]);

const anyRefusal = {
  account_id: null,
  code: null,
  key_id: null,
  model_id: null,
  from: null,
  to: null,
  below_id: null,
  limit: 51,
};
const refusal = {
  id: newId(),
  account_id: newId(),
  key_id: newId(),
  call_id: 'req_1',
  created_at: new Date(),
  model_id: null,
  path: '/v1/usage',
  status: 400,
  code: 'bad_request' as const,
  reason: null,
};

type Ask = (db: Database & Transaction) => unknown;
const everything = { kinds: [], from: null, to: null };
const pageOfAll = { below_id: null, limit: 51, look: 1_000 };
const txHash = `0x${'0'.repeat(60)}1234`;
const depositKey = { family: 'evm', xpub: 'xpub-of-the-operator' } as const;
const depositAddress = `0x${'0'.repeat(36)}1234`;
const asked: Record<string, Ask> = {
  'the accounts of deposit addresses': (c) =>
    depositAddresses.findOwners(c, depositKey, [depositAddress, depositAddress]),
  'the deposit address of an account': (c) =>
    depositAddresses.listCurrent(c, sample.account, ['evm', 'tron']),
  'note that a deposit address was shown': (c) =>
    depositAddresses.noteShown(c, sample.account, ['evm']),
  'whether a deposit address was shown lately': (c) => depositAddresses.areShown(c, 'evm'),
  'deposits of some transactions': (c) => chainDeposits.lockMany(c, 'play', [txHash, txHash]),
  'bookings that name a transaction': (c) => chainDeposits.findMentioned(c, [txHash, txHash]),
  'whether a named transaction is credited': (c) => chainDeposits.isCredited(c, txHash),
  'deposits that one endpoint alone knows': (c) =>
    chainDeposits.listUnconfirmed(c, 'play', [depositAddress], 20),
  'bonuses of an account that have not ended': (c) => shownBonuses(c, sample.account),
  'final deposits of an account': (c) =>
    depositLists.listFinal(c, { account_id: sample.account, below_id: null, limit: 21 }),
  'what was seen above the final block': (c) => sightings.replace(c, 'play', [], 1n, null),
  'claim an event to the operator': (c) => operatorEvents.claimNext(c, 60),
  'whether there was such an event': (c) =>
    operatorEvents.addOnce(
      c,
      { type: 'books.broken', account_id: null, data: { laws: [] } },
      'one',
      60,
    ),
  'note that an event was sent': (c) => operatorEvents.noteSent(c, { id: uuid, attempt: 1 }, 200),
  'a page of events': (c) => operatorEvents.list(c, { type: null, below_id: uuid, limit: 51 }),
  'the events of a letter': (c) => operatorEvents.listMailDue(c, 500),
  'delete old events': (c) => operatorEvents.clear(c, 30, 500),
  'an operator key': (c) => operatorKeys.authenticate(c, Buffer.alloc(32), 600),
  'requests of all accounts': (c) =>
    lines.pageBelow(c, { ...pageFilter(sample.account), account_id: null }, pageOfAll),
  'transfers of all accounts': (c) => transferPage(c, everything, pageOfAll),
  'deposits of all accounts': (c) =>
    transferPage(c, { ...everything, kinds: ['deposit'] }, pageOfAll),
  authenticate: (c) =>
    callers.authenticateMany(c, [sample.hash, Buffer.alloc(32)], { key: 600, account: 3000 }),
  'a page of keys': (c) =>
    keys.page(c, { account_id: sample.account, is_active: true, below_id: sample.key, limit: 51 }),
  'a page of all keys': (c) =>
    keys.page(c, { account_id: sample.account, is_active: false, below_id: null, limit: 51 }),
  'one key of an account': (c) => keys.find(c, sample.account, sample.key),
  'the studio key of an account': (c) => keys.findStudio(c, sample.account),
  'whether an account has many keys': (c) => keys.hasLiving(c, sample.account, 1_000),
  'the models of a key': (c) => keys.findModels(c, sample.hash),
  'find a key': (c) => keys.findAccountOfSecret(c, sample.hash),
  'find an account': (c) => accounts.find(c, sample.account),
  'list accounts': (c) => accounts.list(c, { limit: 20, before: sample.account }),
  'find accounts by words': (c) => finding.search(c, { ...search, words: 'ana acme' }),
  'find accounts by the beginning of an id': (c) =>
    finding.search(c, { ...search, words: sample.account.slice(0, 13) }),
  'list accounts with their figures': (c) =>
    finding.search(c, { ...search, below_id: sample.account }),
  'find operators by words': (c) =>
    finding.search(c, { ...search, words: 'ana acme', only: 'operators' }),
  'find accounts by an id': (c) => finding.search(c, { ...search, words: sample.request }),
  'find accounts by a key': (c) => finding.search(c, { ...search, words: 'fbx_ab…last' }),
  'find accounts by the beginning of a key': (c) =>
    finding.search(c, { ...search, words: 'fbx_abc' }),
  'find accounts by a voucher': (c) => finding.search(c, { ...search, words: 'FB-…LAST' }),
  'list suspended accounts': (c) => finding.search(c, { ...search, only: 'suspended' }),
  'list operators': (c) => finding.search(c, { ...search, only: 'operators' }),
  'show an account': (c) => finding.findWithFigures(c, sample.account),
  'requests with their margin': (c) => margins.withMargins(c, [sample.request]),
  'show a request to an operator': (c) => margins.findFull(c, sample.request),
  'show its input': (c) => margins.findInput(c, sample.request),
  'the log': (c) => operatorLog.list(c, logged),
  'the log of an account': (c) => operatorLog.list(c, { ...logged, account_id: sample.account }),
  'the log of an operator': (c) => operatorLog.list(c, { ...logged, by_email: 'op7@x.test' }),
  'the log of an action': (c) => operatorLog.list(c, { ...logged, action: 'account.credit' }),
  'who wrote the log': (c) => operatorLog.listAuthors(c),
  'lock balances': (c) => openBooks(c, [sample.account, uuid]),
  'lock usage': (c) => openUsage(c, [sample.key, uuid]),
  'find an earlier submit': (c) =>
    requests.findEarlier(c, [
      { account_id: sample.account, idempotency_key: sample.idempotency_key },
    ]),
  'claim what is queued': (c) =>
    queue.claimQueued(c, { upstream: 'busy', concurrency: 50 }, 20, 60),
  'claim what is due': (c) => queue.claimDue(c, 20, 60),
  'put claims off': (c) => queue.putOff(c, [{ id: sample.request, attempt: 1 }], 2),
  'the next due time': (c) => queue.readNextDueMs(c),
  'upstreams where something waits': (c) => queue.listWaitingUpstreams(c),
  'heads of the queues': (c) => queue.queueStates(c, ['busy', 'idle'], 1_000),
  'figures of the upstreams': (c) => upstreamStates.readUpstreamStates(c, ['busy', 'idle']),
  'models that rest': (c) => upstreamStates.listPausedModels(c, ['busy', 'idle']),
  'how upstreams did in the last day': (c) => pace.runLatencies(c, 86_400, madeAt(19_900)),
  'how starts went in the last day': (c) => pace.startLatencies(c, 86_400, madeAt(19_900)),
  'how long runs of models took': (c) => runTimes(c, ['busy/model', 'none/model']),
  'what is open': (c) => openRequests.list(c, openFilter),
  'what is open at one upstream, the next page': (c) =>
    openRequests.list(c, { ...openFilter, upstream: 'busy', above_id: sample.request }),
  'who waits most': (c) => openRequests.readDepths(c, 20),
  'what runs, of everybody': (c) => openRequests.countRunning(c, 900),
  'unknown outcomes': (c) => unknownOutcomes.listEnded(c, { ...doubts, resolved: false }),
  'unknown outcomes, resolved or not': (c) =>
    unknownOutcomes.listEnded(c, { ...doubts, resolved: null, upstream: 'busy' }),
  'outcomes that are waited for': (c) => unknownOutcomes.listWaiting(c),
  'how many outcomes are unknown': (c) => unknownOutcomes.countUnknownByUpstream(c),
  'unknown outcomes of an upstream': (c) =>
    unknownOutcomes.listUnresolved(c, { ...doubts, upstream: 'busy', since: new Date(madeAt(10)) }),
  'what unknown outcomes cost': (c) => bookCosts(c, bothOutcomes(), 5n),
  'movements of a request': (c) => movementsOf(c, sample.request),
  'attempts of a request': (c) => requestLists.listAttempts(c, sample.request),
  'notifications of an account': (c) =>
    deliveries.list(c, { account_id: sample.account, failed: true, below_id: null, limit: 51 }),
  'notifications about no request that are old': (c) => deliveries.clear(c, 30, 100),
  'notifications of a request': (c) => deliveries.listNewestOf(c, sample.request),
  'load claims': (c) => requestSteps.loadClaimed(c, [{ id: sample.request, attempt: 1 }]),
  'lock requests': (c) => endedRequests.lockMany(c, [sample.request, uuid]),
  statuses: (c) => requests.findMany(c, [sample.request, uuid]),
  cards: (c) => requests.findCards(c, [sample.request, uuid]),
  outputs: (c) => requests.findOutputs(c, [sample.request, uuid]),
  'entries of a page': (c) => lines.findEntries(c, [sample.request, uuid], [sample.account]),
  'a page of the library': (c) =>
    lines.pageBelow(c, inLibrary({ words: ['needle', 'cat'] }), libraryBounds),
  'a page of favorites': (c) => lines.pageBelow(c, inLibrary({ favorites: true }), libraryBounds),
  'mark a favorite': (c) =>
    library.addFavorite(c, { account_id: sample.account, request_id: sample.request }, 10_000),
  'unmark a favorite': (c) =>
    library.removeFavorite(c, { account_id: sample.account, request_id: sample.request }),
  'delete the output of a request': (c) => requestSteps.endOutputs(c, [sample.request]),
  'a page of requests': (c) =>
    lines.pageBelow(c, pageFilter(sample.account), { below_id: null, limit: 26, look: 1_000 }),
  'a newer page of requests': (c) =>
    lines.listIdsAbove(c, pageFilter(sample.account), {
      above_id: sample.request,
      limit: 26,
      look: 1_000,
    }),
  'a page of requests, and how far its search reaches': (c) =>
    lines.pageBelow(c, pageFilter(sample.account), { below_id: null, limit: 25, look: 1_000 }),
  'open requests of watched accounts': (c) => lines.openAmongNewest(c, [sample.account, uuid], 50),
  'whose money has moved': (c) => movedSince(c, [{ account_id: sample.account, seq: 3n }], 41),
  'who still looks': (c) =>
    people.areStillThere(c, [{ session_id: uuid, person_id: uuid, account_id: sample.account }]),
  'a person by address': (c) => people.find(c, 'p10000@x.test'),
  'a person who has not proven an address': (c) => people.lockUnproven(c, 'p10000@x.test', true),
  'an account by address': (c) => accounts.find(c, '10000@x.test'),
  'who founded an account': (c) => members.listFoundedBy(c, sample.person),
  'whether an account has paid': (c) => accounts.mayCauseLetters(c, sample.big),
  'the link of a letter': (c) => links.find(c, 'reset:10000'),
  'use up a link': (c) => links.take(c, 'email:10000'),
  'drop the links of a person': (c) => links.dropAll(c, sample.person, 'email:'),
  'list requests': (c) => listed(c, { account_id: sample.account }),
  'list requests, the next page': (c) =>
    listed(c, { account_id: sample.account, below_id: sample.request }),
  'list requests of one model and state': (c) =>
    listed(c, {
      account_id: sample.account,
      status: 'FAILED',
      model_id: 'm',
      from_ms: madeAt(10_000),
      to_ms: madeAt(15_000),
    }),
  statement: (c) => statement(c, sample.account, { limit: 50 }),
  'statement, the next page': (c) => statement(c, sample.account, { limit: 50, before: 3n }),
  'find a charge': (c) => findCharge(c, sample.request),
  'find a reference': (c) => findReference(c, sample.reference),
  'movements, the next page': (c) =>
    movements(c, { ...booked, account_id: sample.account, below_seq: 300n }),
  'movements of one kind': (c) =>
    movements(c, { ...booked, account_id: sample.account, kinds: ['charge'] }),
  'deposits by source': (c) => depositSums(c, { from: new Date(madeAt(19_000)), to: null }),
  'what movements come to': (c) => movementTotals(c, { ...booked, account_id: sample.account }),
  'movements between two moments': (c) =>
    seqsBetween(c, sample.account, new Date(0), new Date(madeAt(5_000))),
  'what was spent a day': (c) =>
    spend.readByDay(c, sample.account, {
      since: new Date(madeAt(10_000)),
      live: new Date(madeAt(15_000)),
      modelsMax: 7,
    }),
  'what was spent a day before': (c) =>
    spend.readTotalByDay(c, sample.account, {
      since: new Date(madeAt(5_000)),
      until: new Date(madeAt(10_000)),
      live: new Date(madeAt(7_000)),
    }),
  'webhooks that failed lately': (c) =>
    deliveries.countFailedSince(c, sample.account, new Date(madeAt(15_000)), 100),
  'refused calls of an account': (c) =>
    refusals.list(c, { ...anyRefusal, account_id: sample.account }),
  'refused calls of all accounts': (c) => refusals.list(c, anyRefusal),
  'refused calls of all accounts with one code': (c) =>
    refusals.list(c, { ...anyRefusal, code: 'c10000' }),
  'refused calls of all accounts with one key': (c) =>
    refusals.list(c, { ...anyRefusal, key_id: uuid }),
  'refused calls of all accounts to one model': (c) =>
    refusals.list(c, { ...anyRefusal, model_id: 'none' }),
  'keep refused calls': (c) => refusals.keep(c, [refusal]),
  'count refused calls': (c) => refusals.count(c, [{ ...refusal, calls: 1 }]),
  'refused calls of the last day': (c) => refusals.listLastDay(c, sample.account),
  'delete old refused calls': (c) => refusals.clear(c, 500),
  'which days are kept': (c) => spend.findRolledUp(c, sample.account),
  'begin to keep days': (c) => spend.lockRolledUp(c, sample.account, new Date(madeAt(5_000))),
  'keep days': (c) =>
    spend.rollUp(c, sample.account, new Date(madeAt(5_000)), new Date(madeAt(9_000))),
  'this month of the keys': (c) => spend.readThisMonth(c, sample.account, 5),
  'what runs': (c) => spend.listOpenJobs(c, sample.account, 6),
  'first steps': (c) => spend.readFirstSteps(c, sample.account),
  'redeem a voucher': (c) => vouchers.take(c, Buffer.alloc(32), sample.account),
  'list vouchers': (c) => vouchers.list(c, { limit: 20, before: uuid }),
  'find files': (c) => files.findLiving(c, sample.account, [sample.file, uuid]),
  'page of files': (c) => files.page(c, sample.account, { below: uuid, limit: 101 }),
  'expire files': (c) => files.expireMany(c, [sample.file, uuid]),
  'what is past its time': (c) => readOverdue(c, 300),
  'claim expired files': (c) => files.claimExpired(c, 500, 60),
  'remove files': (c) => files.removeMany(c, [sample.file, uuid]),
  'what the files of an account take': (c) => files.readFilesHeld(c, sample.account, 100),
  'keep a file': (c) =>
    files.insert(c, {
      id: uuid,
      account_id: sample.account,
      storage_key: 'k',
      content_type: 'image/png',
      size: 1n,
      sha256: '0'.repeat(64),
      metadata: null,
      ttl_seconds: 60,
      max_bytes: 100,
      max_files: 100,
    }),
  "sum up an account's usage": (c) =>
    readUsageOf(c, usage({ account_id: sample.account, metadata: { customer: 'c300' } })),
  "sum up an account's stored days": (c) =>
    readUsageOf(
      c,
      usage({ account_id: sample.account, by: ['day', 'person'], names: [], isStored: true }),
    ),
  "an account's days that are not stored": (c) =>
    usageDays.findUnstored(c, sample.account, { from: dayAt(-30), to: dayAt(1) }),
  "store a day of an account's usage": (c) =>
    usageDays.storeDay(c, sample.account, { day: dayAt(-1), until: new Date() }),
  'forget idempotency keys': (c) => requests.forgetKeys(c, 30, 500),
  'clear payloads': (c) => requests.clearPayloads(c, 30, 500),
  begin: (c) =>
    requestSteps.beginMany(c, [
      {
        id: sample.request,
        attempt: 1,
        to: 'begin',
        upstream: 'busy',
        model: 'm',
        class: 'A',
        request_hash: Buffer.alloc(32),
        deadline_seconds: 1,
        lease_seconds: 1,
      },
    ]),
  accept: (c) =>
    requestSteps.acceptMany(c, [
      {
        id: sample.request,
        attempt: 1,
        to: 'accepted',
        started_in: 1,
        handle: {},
        wake_seconds: 1,
      },
    ]),
  wait: (c) =>
    requestSteps.waitMany(c, [
      {
        id: sample.request,
        attempt: 1,
        to: 'wait',
        wake_seconds: 1,
        started_in: 1,
        outcome: 'unknown',
        message: 'm',
        progress: null,
      },
    ]),
  end: (c) =>
    endedRequests.endMany(c, [
      {
        id: sample.request,
        account_id: sample.account,
        status: 'FAILED',
        upstream: null,
        charged_usd_micro: 0n,
        error_code: 'timeout',
        error_message: 'm',
        error_details: '{}',
        error_cause: 'c',
        ttl_seconds: null,
        output: null,
        quantity: null,
        tokens: null,
        cost_usd_micro: null,
        outputs: [],
        has_result: true,
        frees_key: true,
      },
      {
        id: uuid,
        account_id: sample.account,
        status: 'CANCELLED',
        upstream: null,
        charged_usd_micro: 0n,
        error_code: null,
        error_message: null,
        error_details: null,
        error_cause: null,
        ttl_seconds: null,
        output: null,
        quantity: null,
        tokens: null,
        cost_usd_micro: null,
        outputs: [],
        has_result: false,
        frees_key: false,
      },
    ]),
};

describe('no whole table is read to', () => {
  for (const [what, ask] of Object.entries(asked)) {
    test(what, async () => {
      const statements = await statementsOf(ask);
      assert.ok(statements.length > 0);
      for (const each of statements) {
        assert.deepEqual(
          wholeTables(await planFor(db, each)),
          [],
          `with these values: ${each.text}`,
        );
        assert.deepEqual(
          wholeTables(await planForAll(db, each)),
          [],
          `for any values: ${each.text}`,
        );
      }
    });
  }

  test('and each is local to an account, or on the list of those that are not', async () => {
    // An advisory lock is one of the database in which the rest runs.
    const isLocal = async (ask: Ask) =>
      (await statementsOf(ask)).every(({ text }) =>
        /account_id|accounts\s+where id = |pg_advisory_xact_lock/.test(text),
      );
    const across: string[] = [];
    for (const [what, ask] of Object.entries(asked)) if (!(await isLocal(ask))) across.push(what);
    assert.deepEqual(across.toSorted(), Object.values(acrossAccounts).flat().toSorted());
  });

  test('and the check finds one that is', async () => {
    const [plan] = [
      await planFor(db, rawSql('select id from requests where model_id = $1', ['m'])),
    ];
    assert.deepEqual(wholeTables(plan), ['requests']);
  });
});

describe('a page reads no more rows than it shows, wherever it begins', () => {
  const pages: Record<string, Ask> = {
    'the first requests': (c) => listed(c, { account_id: sample.big }),
    'the first page of requests': (c) =>
      lines.pageBelow(c, pageFilter(sample.big), { below_id: null, limit: 20, look: 1_000 }),
    'a page of requests long ago': (c) =>
      lines.pageBelow(
        c,
        { ...pageFilter(sample.big), to_ms: madeAt(4_002) },
        { below_id: null, limit: 20, look: 1_000 },
      ),
    'a newer page of requests': (c) =>
      lines.listIdsAbove(c, pageFilter(sample.big), {
        above_id: sample.middle,
        limit: 21,
        look: 1_000,
      }),
    'requests from the middle': (c) =>
      listed(c, { account_id: sample.big, below_id: sample.middle }),
    'requests since a moment that few came after': (c) =>
      listed(c, { account_id: sample.big, from_ms: madeAt(19_990) }),
    'requests before a moment long ago': (c) =>
      listed(c, { account_id: sample.big, to_ms: madeAt(4_002) }),
    'failed requests among many others': (c) =>
      listed(c, { account_id: sample.big, status: 'FAILED' }),
    'cancelled requests, of which there are none': (c) =>
      listed(c, { account_id: sample.big, status: 'CANCELLED' }),
    'queued requests, from the middle': (c) =>
      listed(c, { account_id: sample.big, status: 'IN_QUEUE', below_id: sample.middle }),
    'no Idempotency-Key, while none is due': (c) => requests.forgetKeys(c, 300, 21),
    'files that are due': (c) => files.claimExpired(c, 21, 60),
    'no payloads, while none are due': (c) => requests.clearPayloads(c, 300, 21),
    'keys of an account': (c) =>
      keys.page(c, { account_id: sample.big, is_active: false, below_id: null, limit: 21 }),
    'its active keys, from the middle, past those that are revoked': (c) =>
      keys.page(c, { account_id: sample.big, is_active: true, below_id: sample.midkey, limit: 21 }),
    'the first of a statement': (c) => statement(c, sample.big, { limit: 21 }),
    'a statement from the middle': (c) => statement(c, sample.big, { limit: 21, before: 20_000n }),
    'the first of the movements': (c) =>
      movements(c, { ...booked, account_id: sample.big, limit: 21 }),
    'top-ups among many movements, from the middle': (c) =>
      movements(c, {
        ...booked,
        account_id: sample.big,
        kinds: ['deposit'],
        below_seq: 20_000n,
        limit: 21,
      }),
    'failed notifications, of which there are none': (c) =>
      deliveries.list(c, { account_id: sample.big, failed: true, below_id: null, limit: 21 }),
    'an event that is due, among many': (c) => operatorEvents.claimNext(c, 60),
    'accounts from the middle': (c) => accounts.list(c, { limit: 21, before: sample.person }),
  };
  for (const [what, ask] of Object.entries(pages)) {
    test(what, async () => {
      const [one] = await statementsOf(ask);
      const plan = await planForAll(db, one!, executeWith(one!), 'analyze, ');
      assert.ok(rowsRead(plan) <= 21, `${rowsRead(plan)} rows: ${JSON.stringify(plan)}`);
    });
  }
});

describe('a search reads few blocks, however many requests the account has', () => {
  // All its 5,000 requests have env=prod, ten have customer=c300, and none has the others.
  const searches: Record<string, [most: number, Partial<lines.PageFilter>]> = {
    'a pair of few': [300, { metadata: { customer: 'c300' } }],
    'a pair of all': [300, { metadata: { env: 'prod' } }],
    'a pair of none': [50, { metadata: { tenant: 'nobody' } }],
    'two pairs, of all and of few': [400, { metadata: { env: 'prod', customer: 'c300' } }],
    'two pairs, of all and of none': [50, { metadata: { env: 'prod', tenant: 'nobody' } }],
    'a pair of few and another model': [200, { metadata: { customer: 'c300' }, model_id: 'rare' }],
    'a pair of all and another model': [1_100, { metadata: { env: 'prod' }, model_id: 'rare' }],
    'a pair of all and another key': [1_100, { metadata: { env: 'prod' }, key_id: uuid }],
    'a pair of all in a period long ago': [
      300,
      { metadata: { env: 'prod' }, from_ms: madeAt(3_000), to_ms: madeAt(4_002) },
    ],
    'a pair of all that failed, in a period': [
      600,
      { metadata: { env: 'prod' }, status: 'FAILED', from_ms: madeAt(3_000), to_ms: madeAt(3_202) },
    ],
    'the number of a call': [50, { call_id: callNumber(uuid) }],
    "a caller's number of one call": [100, { call_id: 'call-6000' }],
    "a caller's number of every third call": [300, { call_id: 'same' }],
    "a caller's number of every third call, and a pair of none": [
      300,
      { call_id: 'same', metadata: { tenant: 'nobody' } },
    ],
    "a caller's number of no call": [50, { call_id: 'other' }],
    'a word of few prompts': [60, { library: { words: ['needle'], favorites: false } }],
    'a word of all prompts': [300, { library: { words: ['cat'], favorites: false } }],
    'a word of no prompt': [30, { library: { words: ['dog'], favorites: false } }],
    'favorites with a word': [700, { library: { words: ['needle'], favorites: true } }],
    'another model': [50, { model_id: 'rare' }],
    'the model of all': [300, { model_id: 'm' }],
    'the model of all, completed': [300, { model_id: 'm', status: 'COMPLETED' }],
    'another key': [50, { key_id: uuid }],
    'another key and the model of all': [1_100, { key_id: uuid, model_id: 'm' }],
    'a person who made none': [50, { person_id: uuid }],
    'a person who made none, failed': [50, { person_id: uuid, status: 'FAILED' }],
    'another model, failed': [50, { model_id: 'rare', status: 'FAILED' }],
    'another model in a period': [
      50,
      { model_id: 'rare', from_ms: madeAt(3_000), to_ms: madeAt(3_202) },
    ],
  };
  for (const [what, [most, more]] of Object.entries(searches))
    test(what, async () => {
      const asked = { ...lines.anyRequest, account_id: sample.big, ...more };
      const bounds = { below_id: null, look: 1_000, limit: 21 };
      const parts: Record<string, Ask> = {
        page: (c) => lines.pageBelow(c, asked, bounds),
        newer: (c) => lines.listIdsAbove(c, asked, { ...bounds, above_id: firstId }),
      };
      for (const [part, ask] of Object.entries(parts))
        for (const one of await statementsOf(ask)) {
          const plans = [
            await planFor(db, one, 'analyze, buffers, '),
            await planForAll(db, one, executeWith(one), 'analyze, buffers, '),
          ];
          for (const plan of plans)
            assert.ok(
              blocks(plan) <= most,
              `${part}: ${blocks(plan)} blocks: ${JSON.stringify(plan)}`,
            );
        }
    });

  for (const [call_id, most] of [
    [callNumber(uuid), 50],
    ['call-6000', 100],
    // Every account has sent it.
    ['same', 5_000],
    ['other', 50],
  ] as const)
    test(`requests of all accounts by the number ${call_id}`, async () => {
      const asked = { ...lines.anyRequest, call_id };
      const [one] = await statementsOf((c) =>
        lines.pageBelow(c, asked, { below_id: null, look: 1_000, limit: 21 }),
      );
      for (const plan of [
        await planFor(db, one!, 'analyze, buffers, '),
        await planForAll(db, one!, executeWith(one!), 'analyze, buffers, '),
      ]) {
        assert.deepEqual(wholeTables(plan), []);
        assert.ok(blocks(plan) <= most, `${blocks(plan)} blocks: ${JSON.stringify(plan)}`);
      }
    });

  test("the operator's list, of a model that hardly any request has", async () => {
    const asked = { ...lines.anyRequest, model_id: 'rare' };
    const [one] = await statementsOf((c) =>
      requestLists.listNewest(c, asked, { limit: 21, look: 1_000 }),
    );
    const plan = await planForAll(db, one!, executeWith(one!), 'analyze, buffers, ');
    assert.ok(blocks(plan) <= 1_100, `${blocks(plan)} blocks: ${JSON.stringify(plan)}`);
  });
});

describe('usage reads the requests of its account and period, and few others', () => {
  // The account has a quarter of all requests, of which 72 end in a day.
  const periods: [days: number, most: number][] = [
    [1, 40],
    [31, 600],
  ];
  for (const [days, most] of periods)
    test(`of ${days} days`, async () => {
      const asked = usage({ account_id: sample.big, from: dayAt(1 - days) });
      const [one] = await statementsOf((c) => readUsageOf(c, asked));
      const plan = await planFor(db, one!, 'analyze, ');
      assert.ok(rowsRead(plan) <= most, `${rowsRead(plan)} rows: ${JSON.stringify(plan)}`);
      assert.ok(!JSON.stringify(plan).includes('"attempts"'), 'left starts are not read');
    });

  test('of 31 days that are stored', async () => {
    const asked = usage({
      account_id: sample.big,
      by: ['model'],
      names: [],
      from: dayAt(-30),
      isStored: true,
    });
    const [one] = await statementsOf((c) => readUsageOf(c, asked));
    const plan = await planFor(db, one!, 'analyze, ');
    assert.ok(rowsRead(plan) <= 45, `${rowsRead(plan)} rows: ${JSON.stringify(plan)}`);
  });
});

/** The statements of a function, without sending them. */
async function statementsOf(ask: Ask): Promise<Statement[]> {
  const sent: Statement[] = [];
  const connection: Connection = {
    async run(one) {
      sent.push(one);
      return [];
    },
  };
  const tx: Transaction = { ...connection, send: (one) => void sent.push(one) };
  await ask({ ...tx, tx: (work: (tx: Transaction) => unknown) => work(tx) } as unknown as Database &
    Transaction);
  return sent.filter(({ text }) => !/^\s*insert into upstreams/.test(text));
}

function wholeTables(node: Node): string[] {
  const below = (node.Plans ?? []).flatMap(wholeTables);
  const table = node['Relation Name'];
  const whole = node['Node Type'] === 'Seq Scan' && table !== undefined && growing.has(table);
  return whole ? [table, ...below] : below;
}

/** Fills the tables as after a year: 20,000 rows each, nearly all final, a few hundred open. */
async function fill(): Promise<void> {
  const at = `now() - (20000 - n) * interval '20 minutes'`;
  // One at a time, because each statement has a time limit.
  const rows = `
    create function uid(kind int, n int) returns uuid language sql immutable
      as $$ select (lpad(to_hex(n), 8, '0') || '-' || lpad(to_hex(kind), 4, '0') || '-7000-8000-000000000000')::uuid $$;
    create temp view n as select n, uid(1, case n % 4 when 0 then 7 else n % 2000 end) as account, uid(2, n) as key, uid(3, n) as request
      from generate_series(0, 19999) n;
    insert into accounts (id, email, webhook_secrets) select uid(1, n), n || '@x.test', '{x}' from generate_series(0, 19999) n;
    insert into balances (account_id, credits_posted, last_seq) select id, 1000000, 20 from accounts;
    insert into keys (id, account_id, name, hash, prefix, last4, previous_hash, previous_until, revoked_at)
      select key, account, 'x', sha256(n::text::bytea), 'fbx_' || chr(97 + n % 26) || chr(97 + n / 26 % 26), 'last', case when n % 7 = 0 then sha256(('p' || n)::bytea) end,
        case when n % 7 = 0 then now() end, case when n between 2000 and 9990 then now() end from n;
    insert into key_usage (key_id, account_id, month) select id, account_id, '2026-01-01' from keys;
    insert into key_windows (key_id, started_at, calls, asked, granted, quota) select id, now(), 1, 1, 1, 600 from keys;
    insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id, amount_usd_micro,
        available_after_usd_micro, reference, source, created_at)
      select uid(4, n), account, n * 2 + 1, 'deposit', '00000000-0000-0000-0000-000000000001', account, 5, 0, 'r' || n, 'paid', ${at} from n;
    insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id, amount_usd_micro,
        available_after_usd_micro, key_id, created_at)
      select request, account, n * 2 + 2, 'reserve', account, '00000000-0000-0000-0000-000000000002', 5, 0, key, ${at} from n;
    insert into requests (id, account_id, key_id, model_id, kind, upstream, quoted_usd_micro, charged_usd_micro, status, slot, waits, attempt,
        created_at, started_at, completed_at, deadline_at, wake_at)
      select request, account, key, 'm', 'image', case n % 2 when 0 then 'busy' else 'other' end, 5,
        case when n < 19500 then 5 end, case when n < 19500 then 'COMPLETED' when n < 19800 then 'IN_PROGRESS' else 'IN_QUEUE' end,
        n between 19500 and 19789, n between 19790 and 19799, 1, to_timestamp((n * 65536.0 + 3) / 1000), case when n < 19800 then ${at} end, case when n < 19500 then ${at} end,
        case when n < 19800 then ${at} end, case when n >= 19500 then ${at} end
      from n;
    insert into request_inputs (request_id, account_id, idempotency_key, fingerprint, input, quote, prompt, metadata, created_at, numbered, caller_id)
      select request, account, case when n % 2 = 0 and n > 17000 then 'k' || n end, case when n % 2 = 0 and n > 17000 then sha256('') end,
        '{}', '{}', 'a cat ' || n || case when n % 2000 = 0 then ' and a needle' else '' end, case when n % 2 = 0 then jsonb_build_object('env', 'prod', 'customer', 'c' || n / 40) end, ${at},
        true, case when n % 3 = 0 then 'call-' || n when n % 3 = 1 then 'same' end from n;
    insert into favorites (account_id, request_id) select account, request from n where n % 3 = 0;
    insert into request_results (request_id, account_id, created_at) select request, account, ${at} from n;
    insert into attempts (request_id, attempt, upstream, class, request_hash) select request, 1, 'busy', 'A', sha256('') from n;
    insert into outputs (request_id, index, account_id, field, storage_key, content_type, size, sha256, file_name)
      select request, 0, account, 'images', 'k', 'image/png', 1, repeat('0', 64), 'f' from n;
    insert into webhook_deliveries (request_id, attempt, account_id, url, status, duration_ms) select request, 1, account, 'u', 200, 1 from n;
    insert into files (id, account_id, storage_key, content_type, size, sha256, created_at, expires_at)
      select uid(5, n), account, 'k', 'image/png', 1, repeat('0', 64), ${at}, ${at} + interval '90 days' from n;
    insert into vouchers (id, code_hash, last4, amount_usd_micro, note, redeemed_at, redeemed_by)
      select uid(6, n), sha256(n::text::bytea), lpad(n::text, 4, '0'), 5, 'course ' || n, now(), account
      from n where n < 10000;
    insert into people (id, name, email) select uid(9, n), 'Person ' || n, 'p' || n || '@x.test' from n;
    insert into members (account_id, person_id, role) select uid(1, n), uid(9, n), 'owner' from n;
    insert into verifications (id, identifier, value, expires_at)
      select uid(13, n), case n % 2 when 0 then 'reset:' || n else 'email:' || n || ' x a@x.test' end, uid(9, n), now() + interval '30 days' from n;
    insert into chains (name, chain_id) values ('play', 7);
    insert into deposit_keys (id, family, xpub, next_index) values (uid(10, 0), 'evm', 'xpub' || repeat('1', 107), 20000);
    insert into deposit_addresses (family, address, account_id, key_id, index, shown_at)
      select 'evm', '0x' || lpad(to_hex(n), 40, '0'), uid(1, n), uid(10, 0), n, ${at} from n;
    insert into chain_deposits (id, chain, tx_hash, log_position, block_height, block_hash, block_at, token, from_address, to_address,
        amount_units, amount_usd_micro, account_id, state, why)
      select uid(11, n), 'play', '0x' || lpad(to_hex(n), 64, '0'), 0, n, '0x' || repeat('0', 64), ${at}, '0x' || repeat('0', 40),
        '0x' || repeat('0', 40), '0x' || lpad(to_hex(n), 40, '0'), 5, 5, account,
        case when n > 19800 then 'held' else 'ignored' end, case when n > 19800 then 'unconfirmed' else 'dust' end
      from n;
    insert into operator_events (id, type, account_id, subject, data, created_at, wake_at, give_up_at, letter_due)
      select uid(12, n), 'deposit.credited', account, 's' || n, '{}', ${at}, ${at}, now(), n > 19000 from n;
    insert into refused_calls (id, account_id, key_id, began_at, code, place, call_id, created_at, path, status)
      select uid(14, n), account, key, date_bin('1 hour', ${at}, 'epoch'), 'c' || n, 1, 'req_' || n, ${at}, '/v1/usage', 400 from n;
    insert into refusals (account_id, key_id, began_at, code, calls)
      select account, key, date_bin('1 hour', ${at}, 'epoch'), 'c' || n, 1 from n;
    insert into spend_rollups select id, '2026-01-01', '2026-02-01' from accounts;
    insert into spend_days select id, '2026-01-01', 'image', 'm', 5, 1 from accounts;
    insert into usage_rollups select id, current_date from accounts;
    insert into usage_days select id, current_date - 3, 'm', id, null, 1, 0, 5, 0, 0, 0, 0 from accounts`;
  await db.tx(async (tx) => {
    for (const text of rows.split(/;\n/)) await tx.run(rawSql(text));
  });
  await db.run(sql`insert into operator_log (id, seq, by_email, action, account_id)
      select uid(8, n), n + 1, 'op' || n % 20 || '@x.test',
        case n % 10 when 0 then 'account.price' else 'account.credit' end, uid(1, n % 2000)
      from generate_series(0, 19999) n`);
  await db.run(rawSql('vacuum analyze'));
}
