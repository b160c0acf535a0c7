import { randomBytes } from 'node:crypto';
import { openEndpoints, readChainFiles } from '../../chains/chains.ts';
import { checkChain, type CheckLine } from '../../chains/check-chain.ts';
import { firstQuestion } from '../../chains/limits.ts';
import { chainsDir } from '../../config.ts';
import { endpointVariable } from '../../core/deposit/chain.ts';
import { hideInLogs, redact } from '../../lib/log.ts';
import { createFetch } from '../../lib/outbound/fetch.ts';
import { CommandFailed } from '../../operations/refusal.ts';
import type { Context, CommandOutput } from '../output.ts';

/** Shorter parts of an address cannot be keys. */
const keyMin = 8;

/** Checks a chain's endpoints, without a database. Returns exit code 1 if something is wrong. */
export async function check({ name }: { name: string }, context: Context): Promise<CommandOutput> {
  const { config } = context;
  const faults: string[] = [];
  const chains = readChainFiles(chainsDir(config), faults);
  const chain = chains.find((each) => each.name === name);
  if (!chain) {
    const known = chains.map((each) => each.name).join(', ');
    throw new CommandFailed(
      [`There is no chain "${name}"; there are ${known}.`, ...faults].join('\n'),
    );
  }
  const fetch = createFetch({ guard: false });
  try {
    const { variable } = config;
    const endpoints = openEndpoints(chain, { variable, fetch, hide: hideAll });
    if (endpoints === null)
      throw new CommandFailed(`${endpointVariable(name)} is not set: give one or two addresses.`);
    if ('problem' in endpoints) throw new CommandFailed(endpoints.problem);
    const addresses = Array.from(
      { length: firstQuestion.addresses },
      () => `0x${randomBytes(20).toString('hex')}`,
    );
    const found = await checkChain(chain, endpoints, addresses);
    const checks = found.map((line) => ({ ...line, text: redact(line.text) }));
    const ok = checks.every((line) => line.ok);
    const text = checks.map(lineOf).join('\n');
    return { json: { chain: name, ok, checks }, text, exit: ok ? 0 : 1 };
  } finally {
    await fetch.close();
  }
}

/** Hides an address, and its parts that may be a key: an endpoint may repeat them in an error. */
function hideAll(secret: string): void {
  hideInLogs(secret);
  const parts = secret.split(/[/?&=@:]/).slice(secret.includes('://') ? 3 : 0);
  for (const part of parts) if (part.length >= keyMin) hideInLogs(part);
}

function lineOf({ endpoint, ok, text }: CheckLine): string {
  const where = endpoint === null ? 'endpoints ' : `endpoint ${endpoint}`;
  return `${ok ? 'ok   ' : 'wrong'}  ${where}  ${text}`;
}
