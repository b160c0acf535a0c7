import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../app.ts';
import { dataDir, type Config } from '../config.ts';
import { hashKey } from '../core/key.ts';
import { formatUsd } from '../core/money.ts';
import * as accounts from '../db/accounts.ts';
import * as keys from '../db/keys.ts';
import type { Database } from '../lib/sql.ts';
import { createAccount, needAccount } from '../operations/account.ts';
import { deposit } from '../operations/deposit.ts';
import { createKey } from '../operations/key.ts';
import { print, type Context } from './output.ts';
import { live } from './serve.ts';

const demo = { email: 'demo@farebox.local', amount: 100_000_000n, reference: 'demo balance' };
const operator = 'operator@farebox.local';

/** Starts everything on this machine with a demo account, and says how to use it. */
export async function trial(context: Context): Promise<void> {
  const { config } = context;
  const quiet =
    config.FAREBOX_LOG_LEVEL === 'info'
      ? { ...config, FAREBOX_LOG_LEVEL: 'warn' as const }
      : config;
  await live(quiet, { http: true, worker: config.FAREBOX_WORKER }, async (app) => {
    const { key, available_usd_micro } = await demoKey(config, app.db);
    await ensure(app.db, operator, true);
    const { baseUrl: base_url, address } = app;
    const emails = { email: demo.email, operator };
    const shown = { base_url, ...address, pid: process.pid, key, ...emails, available_usd_micro };
    print(context, shown, welcome(app, key, available_usd_micro));
  });
}

/**
 * The same demo key at every start: it is kept in the data folder, as only its hash is in the
 * database.
 */
async function demoKey(
  config: Config,
  db: Database,
): Promise<{ key: string; available_usd_micro: bigint }> {
  const { id: account_id } = await ensure(db, demo.email, false);
  const { amount, reference } = demo;
  const { available_usd_micro } = await deposit(db, { account_id, amount, reference });
  const path = join(dataDir(config), 'demo-key');
  const kept = existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
  if (kept !== null && (await isLiving(db, kept, account_id))) {
    return { key: kept, available_usd_micro };
  }
  const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
  const { key } = await createKey(db, { account_id, name: 'demo', ...limits });
  writeFileSync(path, key, { mode: 0o600 });
  return { key, available_usd_micro };
}

async function isLiving(db: Database, key: string, accountId: string): Promise<boolean> {
  return (await keys.findLiving(db, hashKey(key))) === accountId;
}

async function ensure(
  db: Database,
  email: string,
  is_operator: boolean,
): Promise<accounts.AccountRow> {
  return (
    (await accounts.find(db, email)) ??
    (await createAccount(db, { email, is_operator }), needAccount(db, email))
  );
}

function welcome(app: App, key: string, available: bigint): string {
  const { baseUrl } = app;
  const models = app.catalog.current().models.size;
  return `
  Farebox is ready: ${models} sandbox models, no outside service, no real money.

    base address   ${baseUrl}
    API key        ${key}
    accounts       ${demo.email} (balance ${formatUsd(available)} USD), ${operator} (operator)
    guide          ${baseUrl}/llms.txt

  Try it:

    export FAREBOX_KEY=${key}
    curl -s ${baseUrl}/queue/sandbox/canvas/text-to-image \\
      -H "Authorization: Key $FAREBOX_KEY" -H 'Content-Type: application/json' \\
      -d '{"prompt":"a lighthouse at dawn"}'

  Ctrl-C stops everything.
`;
}
