import fileSchema from '../../../../chains/schema.json' with { type: 'json' };
import { Ajv2020 } from 'ajv/dist/2020.js';
import { schemaFaults, type RowFault } from '../catalog/catalog-words.ts';
import { parseUsd } from '../price/money.ts';
import { parseAddress, type Family } from './address.ts';
import { creditedTokens, type Chain, type Token } from './chain.ts';

/** Turns the content of a chain file into a chain, or says in sentences what is wrong. Pure. */

interface ChainForm {
  name: string;
  title?: string;
  family: Family;
  chain_id: number;
  block_seconds: number;
  finality: Chain['finality'];
  final_seconds?: number;
  start_height?: number;
  minimum_usd: string;
  explorer?: { tx: string; address: string };
  tokens: Token[];
}

const validate = new Ajv2020({ allErrors: true, verbose: true }).compile<ChainForm>(fileSchema);

/** The chain that the parsed content of a file describes; null if there are faults. */
export function parseChainFile(content: unknown): { chain: Chain | null; faults: RowFault[] } {
  if (!validate(content))
    return { chain: null, faults: schemaFaults(validate.errors ?? [], content) };
  const {
    name,
    title = name,
    final_seconds = null,
    start_height = null,
    explorer = null,
    minimum_usd,
    ...rest
  } = content;
  const faults: RowFault[] = [];
  const tokens = content.tokens.map((token, i): Token => {
    const address = parseAddress(token.address, content.family);
    if (address === null)
      faults.push({
        path: `/tokens/${i}/address`,
        message: `tokens.${i}.address is not an address of the ${content.family} family; copy it again.`,
      });
    return { ...token, address: address ?? '' };
  });
  if (new Set(tokens.map(({ address }) => address)).size < tokens.length)
    faults.push({ path: '/tokens', message: 'tokens has two entries with the same contract.' });
  if (creditedTokens({ tokens }).length === 0)
    faults.push({
      path: '/tokens',
      message: 'At least one entry of tokens must have credit: true.',
    });
  const minimum_usd_micro = usdOf(minimum_usd);
  if (minimum_usd_micro === null)
    faults.push({
      path: '/minimum_usd',
      message: 'minimum_usd must be an amount above 0 in US dollars, such as "1".',
    });
  if (minimum_usd_micro === null || faults.length > 0) return { chain: null, faults };
  const form = { ...rest, name, title, final_seconds, start_height, explorer };
  return { chain: { ...form, minimum_usd_micro, tokens }, faults };
}

function usdOf(text: string): bigint | null {
  try {
    const micro = parseUsd(text);
    return micro > 0n ? micro : null;
  } catch {
    return null;
  }
}
