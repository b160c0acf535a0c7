import { formatUsd } from '../index.ts';
import type { Estimate, Model } from '../index.ts';
import { keyed } from './account.ts';
import { readInput, type InputOptions } from './input.ts';
import { findModel } from './models.ts';
import type { Context } from './program.ts';
import {
  columnsOf,
  jsonOf,
  oneLine,
  paint,
  print,
  printJson,
  printTable,
  wrap,
} from './terminal.ts';

export async function price(
  context: Context,
  id: string,
  values: string[],
  options: InputOptions,
): Promise<void> {
  const client = keyed(context);
  const model = await findModel(context, id);
  const input = await readInput(model, values, options);
  const estimate = await client.estimate(model.id, input);
  if (context.json) return printJson(estimate);
  if (!process.stdout.isTTY) return print(formatUsd(estimate.price_usd_micro).slice(1));
  print(
    `${paint(process.stdout, 'bold', formatUsd(estimate.price_usd_micro))} for ${oneLine(model.name)}`,
  );
  if (estimate.breakdown.length > 0) {
    print('');
    printTable(
      ['FOR', 'UNITS', 'EACH', 'AMOUNT'],
      estimate.breakdown.map((line) => [
        line.label,
        String(line.quantity),
        formatUsd(line.unit_price_usd_micro),
        formatUsd(line.amount_usd_micro),
      ]),
    );
  }
  const taken = assumed(estimate, model);
  if (!taken) return;
  print('');
  for (const line of wrap(oneLine(taken), columnsOf(process.stdout)))
    print(paint(process.stdout, 'dim', line));
}

/** What the price takes for fields that were left out. */
export function assumed(
  { assumptions, unit_price_by_resolution_usd_micro }: Estimate,
  { unit }: Pick<Model, 'unit'>,
): string {
  const parts = Object.entries(assumptions).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : jsonOf(value)}`,
  );
  if (parts.length === 0) return '';
  const others = Object.entries(unit_price_by_resolution_usd_micro ?? {}).map(
    ([resolution, micro]) => `${resolution} ${formatUsd(BigInt(micro))}`,
  );
  const choice = others.length > 0 ? ` A unit (${unit}) costs ${others.join(', ')}.` : '';
  return oneLine(`Left out, so taken as: ${parts.join(', ')}.${choice}`);
}
