import { roles } from '../../core/account/role.ts';
import { sources } from '../../core/account/source.ts';
import * as s from './schema.ts';

/** Parts of accounts that several calls of the pages, or their events, share. */

export const Role = s.named('Role', s.choice(roles));

export const Funds = s.namedObject('Funds', {
  available_usd_micro: s.microUsd('The amount that the account may spend.'),
  reserved_usd_micro: s.microUsd('Reserved for open requests.'),
  debt_usd_micro: s.microUsd('Paid first by the next top-up.'),
});

export const SourceName = s.named('SourceName', s.choice(sources));

/** The money of deposits from one source. */
export const SourceSum = s.namedObject('SourceSum', {
  source: SourceName,
  amount_usd_micro: s.microUsd(),
});
