/** A long statement is added up from stored sums, which say what its transfers say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../src/ledger/audit.ts';
import type { TransferKind } from '../../src/ledger/ledger.ts';
import { movements, type MovementFilter } from '../../src/ledger/statement.ts';
import { movementTotals } from '../../src/ledger/transfer-sums.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { rollUpTransfers } from '../../src/operations/accounts/roll-up.ts';
import { mend } from '../../src/operations/mend.ts';
import { adjust, deposit } from '../kit/by-command-line.ts';
import { before, withService } from '../kit/with-service.ts';

/** More than two blocks. */
const count = 2_600;
const { service, account } = withService();

before(async () => {
  const { account_id } = account;
  for (let n = 0; n < count; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const own = { account_id, reference: `${n}.${i}`, amount: BigInt(1 + n + i) };
        return i % 4 === 1
          ? adjust(service.db, { ...own, amount: -1n, reason: 'a slip' })
          : deposit(service.db, own);
      }),
    );
});

const blocks = () =>
  service.db.run<{ block: bigint }>(rawSql('select distinct block from transfer_sums order by 1'));

async function filterOf(own: Partial<MovementFilter>): Promise<MovementFilter> {
  const { account_id } = account;
  const all = { from_seq: 1n, below_seq: 1_000_000n, from: null, to: null, kinds: [] };
  return { account_id, ...all, ...own };
}

/** The totals, and those that its movements come to. */
async function both(own: Partial<MovementFilter>) {
  const filter = await filterOf(own);
  const { by_source: _, ...told } = await movementTotals(service.db, filter);
  const all = await movements(service.db, { ...filter, limit: null });
  const changes = all.map((each) => each.change_usd_micro);
  const sum = (list: bigint[]) => list.reduce((total, each) => total + each, 0n);
  const counted = {
    movements: all.length,
    in_usd_micro: sum(changes.filter((each) => each > 0n)),
    out_usd_micro: -sum(changes.filter((each) => each < 0n)),
    charged_usd_micro: 0n,
  };
  return { told, counted };
}

const kinds: TransferKind[][] = [[], ['adjustment'], ['deposit', 'release'], ['charge']];
const ends = [1n, 2n, 1_024n, 1_025n, 1_500n, 2_048n, 2_049n, 2_600n, 10_000n];

async function assertAllEqual(): Promise<void> {
  const at = await service.db.run<{ created_at: Date }>(
    rawSql(
      `select created_at from transfers where account_id = $1 and seq = any($2::bigint[])
      order by seq`,
      [account.account_id, '{1,700,1024,1025,2000,2600}'],
    ),
  );
  const times = [null, ...at.map(({ created_at }) => created_at)];
  for (const from of times)
    for (const to of times)
      for (const of of kinds) {
        const { told, counted } = await both({ from, to, kinds: of });
        assert.deepEqual(told, counted, `${String(from)} to ${String(to)}, ${of.join()}`);
      }
  for (const from_seq of ends)
    for (const below_seq of ends) {
      const { told, counted } = await both({ from_seq, below_seq });
      assert.deepEqual(told, counted, `${from_seq} to ${below_seq}`);
    }
}

test('sums are the same before and after they are stored, for any numbers, times and kinds', async () => {
  await assertAllEqual();
  assert.deepEqual(await blocks(), []);
  const store = () => rollUpTransfers(service.db, account.account_id, 60_000);
  await Promise.all([store(), store()]);
  assert.deepEqual(
    (await blocks()).map(({ block }) => block),
    [0n, 1n],
    'the last block is not full',
  );
  await assertAllEqual();
});

test('an audit finds a changed sum, and a mend has it stored again', async () => {
  await service.db.run(rawSql('update transfer_sums set in_usd_micro = in_usd_micro + 1'));
  const { told, counted } = await both({});
  assert.notDeepEqual(told, counted, 'full blocks are read from the table');
  const { violations } = await audit(service.db);
  assert.deepEqual(
    violations.map(({ law }) => law),
    ['transfer_sums_recompute'],
  );
  const { mended } = await mend(service.db);
  assert.deepEqual(
    mended.map(({ counter }) => counter),
    ['statement_sums'],
  );
  await assertAllEqual();
  await service.audit();
});
