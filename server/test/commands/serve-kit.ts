/** An installation with its own database, and the orderly stop of a service. */
import assert from 'node:assert/strict';
import { deposit } from '../kit/by-command-line.ts';
import { createAccount, requireAccount } from '../../src/operations/accounts/account.ts';
import { createKey } from '../kit/keys.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { assertNoPostgres, reaches, submit, type Place, type RunningService } from './cli.ts';

export const secret = 'a secret of at least thirty-two characters';
const stopMaxMs = 10_000;

/** Stops a trial while it works, and asserts an orderly end. */
export async function endsInOrder(
  place: Place,
  service: RunningService,
  signal: NodeJS.Signals,
): Promise<void> {
  const { key, email } = service.said;
  const id = await submit(service.base, key, 'sandbox:hang');
  await reaches(service.base, key, id, 'IN_PROGRESS');
  const stream = await fetch(`${service.base}/v1/requests/${id}/status/stream`, {
    headers: { authorization: `Key ${key}` },
  });
  const ended = stream.text();
  const { code, ms } = await service.end(signal);
  assert.equal(code, 0, service.stderr());
  assert.ok(ms < stopMaxMs, `${ms} ms`);
  assert.match(await ended, /event: end\ndata: .*draining/, 'the stream was cut without a word');
  await assertNoPostgres(place);
  // The request is still reserved, for the next start.
  const { json } = await place.run(['account', 'show', email, '--json']);
  assert.equal(json.reserved_usd_micro, '10000');
}

/** A database with an account, and the settings of a service on it. */
export interface Company {
  database: TestDatabase;
  key: string;
  env: Record<string, string>;
  balance(): Promise<{ available: bigint; reserved: bigint }>;
}

export async function openCompany(): Promise<Company> {
  const database = await testDatabase();
  const { db } = database;
  const email = 'ana@example.com';
  const { id: account_id } = await createAccount(db, { email, is_operator: false });
  await deposit(db, { account_id, amount: 10_000_000n, reference: 'first' });
  const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
  const { key } = await createKey(db, { account_id, name: 'main', ...limits });
  return {
    database,
    key,
    env: {
      DATABASE_URL: database.url,
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_SECRET: secret,
      FAREBOX_BASE_URL: 'https://models.example.com/v1',
    },
    async balance() {
      const account = await requireAccount(db, email);
      return { available: account.available_usd_micro, reserved: account.reserved_usd_micro };
    },
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
