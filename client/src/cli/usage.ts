import { formatUsd, type UsageLine } from '../index.ts';
import { keyed } from './account.ts';
import { readPairs } from './metadata.ts';
import type { Context } from './verb.ts';
import { printJson, printTable, remark } from './terminal/terminal.ts';

interface UsageOptions {
  by: string;
  from?: string;
  to?: string;
  model?: string;
  key?: string;
  metadata?: string[];
}

const columns: Record<
  string,
  [heading: string, field: 'day' | 'model_id' | 'key_id' | 'person_id']
> = {
  day: ['DAY', 'day'],
  model: ['MODEL', 'model_id'],
  key: ['KEY', 'key_id'],
  person: ['PERSON', 'person_id'],
};

export async function usage({ json, quiet }: Context, options: UsageOptions): Promise<void> {
  const { by, from, to, model: model_id, key: key_id } = options;
  const filter = { from, to, model_id, key_id, metadata: readPairs(options.metadata) };
  const client = keyed({ quiet });
  const found: UsageLine[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.usage({ by, ...filter, limit: 1000, cursor });
    if (json) for (const line of page.data) printJson(line);
    else found.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (json) return;
  if (found.length === 0) {
    const isFiltered = [model_id, key_id, options.metadata].some((each) => each !== undefined);
    return remark(false, `No requests${isFiltered ? ' that match' : ''} ended in these days.`);
  }
  const groups = [...new Set(by.split(','))];
  printTable(
    [...groups.map(headingOf), 'REQUESTS', 'FAILED', 'TOKENS IN', 'TOKENS OUT', 'CHARGED'],
    found.map((line) => [
      ...groups.map((group) => valueOf(line, group)),
      ...[line.requests, line.failed, line.input_tokens, line.output_tokens].map(String),
      formatUsd(line.charged_usd_micro),
    ]),
  );
}

function headingOf(group: string): string {
  return columns[group]?.[0] ?? group;
}

/** The group's value; `-` for requests that have none. */
function valueOf(line: UsageLine, group: string): string {
  const field = columns[group]?.[1];
  return (field ? line[field] : line.metadata[group.slice('metadata.'.length)]) ?? '-';
}
