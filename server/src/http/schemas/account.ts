import { roles } from '../../core/account/role.ts';
import { sources } from '../../core/account/source.ts';
import { choice, microUsd, named, object } from './schema.ts';

/** Parts of accounts that several calls of the pages, or their events, share. */

export const Role = named('Role', choice(roles));

export const Funds = named(
  'Funds',
  object({
    available_usd_micro: microUsd('The amount that the account may spend.'),
    reserved_usd_micro: microUsd('Reserved for open requests.'),
  }),
);

export const SourceName = named('SourceName', choice(sources));

/** The money of deposits from one source. */
export const SourceSum = named(
  'SourceSum',
  object({ source: SourceName, amount_usd_micro: microUsd() }),
);
