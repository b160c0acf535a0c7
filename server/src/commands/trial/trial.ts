import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../../app.ts';
import { openPlayChain } from '../../chains/play-chain.ts';
import { dataDir, type Config } from '../../config.ts';
import { hashKey } from '../../core/account/key.ts';
import { trialAccounts } from '../../core/account/trial.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as people from '../../db/accounts/people.ts';
import { randomBase62 } from '../../lib/base62.ts';
import { hashPassword } from '../../lib/password.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { createAccount, requireAccount } from '../../operations/accounts/account.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import { commandLine } from '../../operations/operator-action.ts';
import { deposit } from '../../operations/accounts/book-by-hand.ts';
import { createKey } from '../../operations/accounts/key.ts';
import { createOwner } from '../../operations/accounts/person.ts';
import { print, type Context } from '../output.ts';
import { live } from '../live.ts';
import { command, headline, offerOf, type Offer } from './trial-offer.ts';

const demo = { email: trialAccounts.demo, amount: 100_000_000n, reference: 'demo balance' };
const { operator } = trialAccounts;

/** Starts everything on this machine with a demo account, and prints how to use it. */
export async function trial(context: Context): Promise<void> {
  const { config } = context;
  const fewLogs =
    config.FAREBOX_LOG_LEVEL === 'info'
      ? { ...config, FAREBOX_LOG_LEVEL: 'warn' as const }
      : config;
  const settings = {
    ...fewLogs,
    // There is no load balancer to wait for, and Ctrl-C should not take seconds.
    FAREBOX_DRAIN_SECONDS: 0,
    FAREBOX_SIGN_UP: config.FAREBOX_SIGN_UP ?? ('open' as const),
    // The play chain shows the whole way of a deposit in less than 5 s: its next block, three more,
    // and half a second until the next read.
    FAREBOX_CHAIN_SECONDS: 0.25,
  };
  const chains = openPlayChain();
  const parts = { http: true, worker: config.FAREBOX_WORKER, chains, judge: ownDatabase };
  await live(settings, parts, async (app) => {
    const { key, available_usd_micro } = await demoKey(config, app.db);
    await ensure(app.db, operator, true);
    const web = config.FAREBOX_WEB ? await signIns(config, app) : null;
    const { baseUrl: base_url, address } = app;
    const emails = { email: demo.email, operator };
    const offer = offerOf(app.catalog.current().models.values(), base_url);
    const account = { key, ...emails, available_usd_micro };
    const json = { base_url, ...address, pid: process.pid, ...account, web, ...offer };
    print(context, { json, text: welcome(app, { key, available_usd_micro, web }, offer) });
  });
}

/**
 * Throws for a database with accounts that are not a trial's: a trial must not put play money
 * beside real money or run real jobs.
 */
async function ownDatabase(db: Database): Promise<void> {
  const [newest] = await accounts.list(db, { limit: 1 });
  if (newest === undefined || (await accounts.find(db, demo.email)) !== null) return;
  throw new CommandFailed(
    `This database has accounts, and ${demo.email} is not one of them: a trial would mix play money with real money. ` +
      'Start "farebox serve"; or unset DATABASE_URL, or set FAREBOX_DATA_DIR to another folder, for a trial.',
  );
}

/**
 * The demo key, the same at every start. It is kept in the data folder, because the database has
 * only its hash.
 */
async function demoKey(
  config: Config,
  db: Database,
): Promise<{ key: string; available_usd_micro: bigint }> {
  const { id: account_id } = await ensure(db, demo.email, false);
  const { amount, reference } = demo;
  const { available_usd_micro } = await deposit(db, commandLine, { account_id, amount, reference });
  const path = join(dataDir(config), 'demo-key');
  const kept = existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
  // guard: one-demo-key
  if (kept !== null && (await isLiving(db, kept, account_id))) {
    return { key: kept, available_usd_micro };
  }
  const made = await createKey(db, { who: 'operator' }, { account_id, name: 'demo' });
  const { key } = made.answer;
  writeFileSync(path, key, { mode: 0o600 });
  return { key, available_usd_micro };
}

interface SignIns {
  url: string;
  /** The demo account and the operator have the same password. */
  password: string;
}

/**
 * The password of the demo account and the operator, the same at every start. It is kept like the
 * demo key.
 */
async function signIns(config: Config, { db, baseUrl }: App): Promise<SignIns> {
  const path = join(dataDir(config), 'demo-password');
  const kept = existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
  const password = kept ?? randomBase62(12, randomBytes);
  if (kept === null) writeFileSync(path, password, { mode: 0o600 });
  for (const email of [demo.email, operator]) {
    const { id: account_id } = await requireAccount(db, email);
    const name = email === operator ? 'Operator' : 'Demo';
    const person = await people.find(db, email);
    if (person === null) await createOwner(db, { account_id, name, email, password });
    else if (kept === null) await people.setPassword(db, person.id, await hashPassword(password));
  }
  return { url: config.FAREBOX_WEB_URL ?? new URL(baseUrl).origin, password };
}

async function isLiving(db: Database, key: string, accountId: string): Promise<boolean> {
  return (await keys.findAccountOfSecret(db, hashKey(key))) === accountId;
}

async function ensure(
  db: Database,
  email: string,
  is_operator: boolean,
): Promise<accounts.AccountRow> {
  return (
    (await accounts.find(db, email)) ??
    (await createAccount(db, { email, is_operator }), requireAccount(db, email))
  );
}

function welcome(
  { baseUrl }: App,
  given: { key: string; available_usd_micro: bigint; web: SignIns | null },
  offer: Offer,
): string {
  const { key, available_usd_micro: available, web } = given;
  const { try_it } = offer;
  const tried =
    try_it === null
      ? ''
      : `
  Try it:

    export FAREBOX_API_KEY=${key}
    ${command(try_it)}
`;
  return `
  ${headline(offer)}

    base address   ${baseUrl}
    API key        ${key}
    web pages      ${web?.url ?? 'off'}
    sign in as     ${demo.email} (balance ${formatUsd(available)} USD) or ${operator}
    password       ${web?.password ?? 'none'}
    guide          ${baseUrl}/llms.txt
${tried}
  Ctrl-C stops everything.
`;
}
