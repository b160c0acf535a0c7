import { formatUsd, type Call, type Deposit, type DepositAddress, type Farebox } from '../index.ts';
import { pause } from '../scope.ts';
import { keyed } from './account.ts';
import { exits, Stop, usage } from './exits.ts';
import { leavable } from './jobs/follow.ts';
import { connection } from './settings.ts';
import { qrText } from './terminal/qr.ts';
import { LiveLine, print, printFields, printJson, secondsText, tell } from './terminal/terminal.ts';
import type { Context } from './verb.ts';

const pollMs = 2_000;
/** Deposits take minutes, so the wait outlasts a service that is away for some minutes. */
const maxRetries = 20;
/** Timers beyond this would end at once. */
const timerMaxMs = 2_147_483_647;

/** Shows where to send USDT, and waits until a deposit is credited. */
export async function topup(
  { json, quiet }: Context,
  {
    chain,
    wait,
    since,
    timeout,
  }: { chain?: string; wait: boolean; since?: Date; timeout?: number },
): Promise<void> {
  const client = keyed({ quiet });
  const address = await chosenAddress(client, chain);
  const list = async (options?: Call) => {
    const { data } = await client.deposits.list({ limit: 100 }, options);
    return chain === undefined ? data : data.filter((each) => each.chain === chain);
  };
  // Before the address is shown, so that a deposit to it is always new.
  const before = (await list()).filter((each) => !since || new Date(each.seen_at) < since);
  const reveal = async () => (json ? printJson(address) : await show(address));
  if (!wait) return reveal();
  const credited = await waitForDeposit(list, before, reveal, { json, quiet, since, timeout });
  if (json) return;
  const { available_usd_micro } = await client.balance();
  printFields([
    ['credited', formatUsd(credited)],
    ['available', formatUsd(available_usd_micro)],
  ]);
}

async function chosenAddress(client: Farebox, chain?: string): Promise<DepositAddress> {
  const addresses = await client.deposits.addresses();
  const [first] = addresses;
  if (!first)
    throw new Stop(
      exits.failed,
      'no_deposit_address',
      'This service takes no deposits from blockchains now.',
      `Other ways to pay: ${new URL(connection().baseUrl).origin}/dashboard/money/top-up`,
    );
  const chosen = chain === undefined ? first : addresses.find((each) => each.chain === chain);
  const names = [...new Set(addresses.map((each) => each.chain))].join(', ');
  if (!chosen) throw usage(`There is no chain ${JSON.stringify(chain)}.`, `There are: ${names}.`);
  if (chain === undefined && addresses.length > 1) tell(`Choose with --chain: ${names}`);
  return chosen;
}

async function show(of: DepositAddress): Promise<void> {
  const { title, token, address, minimum_usd_micro, confirmations, usual_seconds } = of;
  const usually = usual_seconds === null ? '' : `, usually after ${aboutText(usual_seconds)}`;
  printFields([
    ['network', title],
    ['address', address],
    ['minimum', `${formatUsd(minimum_usd_micro)} of ${token.symbol}`],
    [
      'timing',
      confirmations === null
        ? `credited once the network calls the block final${usually}`
        : `credited after ${confirmations} blocks${usually}`,
    ],
    ['warning', `Send only ${token.symbol}, and only on ${title}. Anything else may be lost.`],
  ]);
  if (process.stdout.isTTY) print(`\n${await qrText(address)}\n`);
}

/** In seconds if it is less than a minute, otherwise in whole minutes. */
function aboutText(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

interface WaitOptions {
  since?: Date | undefined;
  timeout?: number | undefined;
}

/**
 * Follows deposits that are new or not final yet, until one is credited and no other is still to
 * become final. Returns the credited amount. Throws if all were ignored, after `timeout` seconds,
 * and at Ctrl-C.
 */
async function waitForDeposit(
  list: (options: Call) => Promise<Deposit[]>,
  before: Deposit[],
  reveal: () => Promise<void>,
  { json, quiet, since, timeout }: Context & WaitOptions,
): Promise<bigint> {
  const line = new LiveLine(quiet || json);
  const waiting = since
    ? `Waiting for a deposit that came after ${since.toISOString()}`
    : 'Waiting for a new deposit (--since TIME counts earlier ones too)';
  const began = Date.now();
  const told = new Set(before.filter(({ state }) => ends.has(state)).map(nameOf));
  const ended: Deposit[] = [];
  const limit =
    timeout === undefined ? null : AbortSignal.timeout(Math.min(timeout * 1000, timerMaxMs));
  const work = async (leaving: AbortSignal) => {
    const signal = limit === null ? leaving : AbortSignal.any([leaving, limit]);
    // Inside `leavable`, because a signal may come as soon as the address is shown.
    await reveal();
    if (!line.live && !quiet) tell(`${waiting}. Ctrl-C ends the waiting only.`);
    for (;;) {
      const data = await list({ signal, maxRetries });
      for (const deposit of data.filter((each) => !told.has(nameOf(each)))) {
        told.add(nameOf(deposit));
        if (ends.has(deposit.state)) ended.push(deposit);
        if (json) printJson(deposit);
        else if (!quiet) tellDeposit(deposit, line);
      }
      const seen = data.find(({ state }) => state === 'seen');
      const open = seen ?? data.find(({ state }) => state === 'held');
      if (!seen && creditedOf(ended) > 0n) return creditedOf(ended);
      const failed = ended.findLast(({ state }) => state === 'ignored');
      if (!open && failed) throw ignored(failed);
      const now = open ? depositText(open) : waiting;
      line.show(`${now} · ${secondsText(Date.now() - began)}`);
      await pause(pollMs, signal);
    }
  };
  const left = async () => {
    line.end();
    throw new Stop(
      exits.interrupted,
      'interrupted',
      'Deposits are credited without this command, and the address stays yours.',
    );
  };
  return leavable(work, left)
    .catch((error: unknown) => {
      throw timeout !== undefined && limit?.aborted ? late(timeout) : error;
    })
    .finally(() => line.end());
}

const ends = new Set<Deposit['state']>(['credited', 'ignored', 'dropped']);

/** A name that changes with the state of a deposit, and with each block that confirms it. */
function nameOf(deposit: Deposit): string {
  const { chain, tx_hash, deposit_id, amount, state, confirmations, required } = deposit;
  const block = state === 'seen' && required !== null && confirmations;
  return JSON.stringify([chain, tx_hash, deposit_id, amount, state, block]);
}

function creditedOf(ended: Deposit[]): bigint {
  return ended.reduce(
    (sum, each) => sum + (each.state === 'credited' ? each.amount_usd_micro : 0n),
    0n,
  );
}

function tellDeposit(deposit: Deposit, line: LiveLine): void {
  if (line.live && deposit.state === 'seen') return;
  line.end();
  tell(`${depositText(deposit)}: ${deposit.tx_hash}`);
}

function depositText({ state, amount, token, chain, confirmations, required }: Deposit): string {
  const blocks = required === null ? 'not final yet' : `${confirmations} of ${required} blocks`;
  const texts = {
    seen: `Seen, ${blocks}`,
    held: 'Being checked',
    credited: 'Credited',
    ignored: 'Not credited',
    dropped: 'Dropped by the network',
  };
  return `${texts[state]}: ${amount} ${token} on ${chain}`;
}

function late(seconds: number): Stop {
  return new Stop(
    exits.open,
    'timeout',
    `No deposit was credited within ${seconds} s.`,
    'Deposits are credited without this command, and the address stays yours.',
  );
}

function ignored({ why }: Deposit): Stop {
  const reasons: Partial<Record<NonNullable<Deposit['why']>, string>> = {
    dust: 'it is less than the minimum',
    token: 'it is of a token that this service does not take',
  };
  const reason = reasons[why ?? 'operator'] ?? 'the operator of the service has decided so';
  return new Stop(
    exits.failed,
    'deposit_ignored',
    `The deposit is not credited: ${reason}.`,
    'Ask the operator of the service; the deposit is in their list.',
  );
}
