import { may, type Role } from '../../core/account/role.ts';
import { creditedTokens } from '../../core/deposit/chain.ts';
import { ApiError } from '../../core/errors.ts';
import type { Spender } from '../../db/accounts/callers.ts';
import { listAddresses } from '../../operations/deposits/deposit-address.ts';
import type { HttpDeps } from '../deps.ts';
import * as s from '../schemas/schema.ts';

/** Tells programs where to send money, so that they can top up by themselves. */

const TopUpAddress = s.namedObject('TopUpAddress', {
  chain: s.text('Name of the chain.'),
  title: s.text('The name that wallets and exchanges show, such as `BNB Chain (BEP20)`.'),
  token: s.text('Symbol of the token.'),
  address: s.text("The account's own address."),
  minimum_usd_micro: s.microUsd('Smaller deposits are not credited.'),
});

export const TopUp = s.list(
  TopUpAddress,
  'Where to send USDT; empty if the operator takes no deposits from chains.',
);

type Deps = Pick<HttpDeps, 'db' | 'chains'>;
interface Payer {
  caller: Spender;
  /** Set for people on the pages; a call with a key has no role. */
  role?: Role | undefined;
}

/** Empty for people whom `/deposit-addresses` refuses. */
export async function topUp(
  { db, chains }: Deps,
  { caller, role }: Payer,
): Promise<s.Static<typeof TopUp>> {
  // guard: addresses-for-payers
  if (role !== undefined && !(caller.active && may(role, 'pay'))) return [];
  const open = await listAddresses(db, caller.account_id, chains.live);
  return open.flatMap(({ chain, address }) =>
    creditedTokens(chain).map(({ symbol: token }) => ({
      chain: chain.name,
      title: chain.title,
      token,
      address,
      minimum_usd_micro: String(chain.minimum_usd_micro),
    })),
  );
}

/** Adds the addresses to the refusal of a call that the balance does not cover. */
export async function withTopUp(
  thrown: unknown,
  deps: Deps,
  { caller, role }: Partial<Payer>,
): Promise<unknown> {
  if (!caller || !(thrown instanceof ApiError) || thrown.code !== 'insufficient_balance')
    return thrown;
  // The refusal is the answer, whether or not its hint can be read.
  const addresses = await topUp(deps, { caller, role }).catch(() => []);
  return thrown.withDetails({ top_up: addresses });
}
