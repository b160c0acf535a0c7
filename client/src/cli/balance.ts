import { formatUsd } from '../index.ts';
import { topUpText } from './failure.ts';
import { keyed } from './account.ts';
import type { Context } from './verb.ts';
import { printFields, printJson } from './terminal/terminal.ts';

export async function balance({ json, quiet }: Context): Promise<void> {
  const found = await keyed({ quiet }).balance();
  if (json) return printJson(found);
  const { available_usd_micro, reserved_usd_micro, key, top_up } = found;
  printFields([
    ['available', formatUsd(available_usd_micro)],
    ['reserved', formatUsd(reserved_usd_micro)],
    ['key', key.name],
    [
      'this month',
      key.limit_usd_micro === null
        ? `${formatUsd(key.spent_usd_micro)}, no limit`
        : `${formatUsd(key.spent_usd_micro)} of ${formatUsd(key.limit_usd_micro)}, resets on ${key.resets_at.slice(0, 10)}`,
    ],
    ...top_up.map((to): [string, string] => ['top up', topUpText(to)]),
  ]);
}
