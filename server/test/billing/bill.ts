import type { Bill, Biller, MadeOutput } from '../upstreams/fakes/kit.ts';
import { secondsOf, sizeOf } from '../upstreams/fakes/made.ts';
import { vendorRules, type VendorRule } from './rules.ts';

/** Computes a vendor's bill for a job from the table of rules. */

type Input = Record<string, unknown>;
type Files = ReadonlyMap<string, Buffer>;

/** The value of unknown fields that a caller adds. If it reaches a vendor, it costs a dollar. */
export const addedValue = 97;
/** The longest side that the formats of large images can hold. */
const sideMax = 65_535;
const usual = { width: 1024, height: 1024 };
/**
 * Pixels of a megapixel: 1024 × 1024 at fal, a million elsewhere. Rows are judged by the dearer.
 */
const megapixel = { begun: 1024 * 1024, output: 1_000_000 };
const named: Record<string, { width: number; height: number }> = {
  square_hd: usual,
  square: { width: 512, height: 512 },
  portrait_4_3: { width: 768, height: 1024 },
  portrait_16_9: { width: 576, height: 1024 },
  landscape_4_3: { width: 1024, height: 768 },
  landscape_16_9: { width: 1024, height: 576 },
};

const rules = new Map(vendorRules.flatMap((rule) => rule.of.map((name) => [name as string, rule])));

export function ruleOf(upstream: string, model: string): VendorRule | undefined {
  return rules.get(`${upstream}: ${model}`);
}

/** The vendor refuses the input and bills nothing. */
export class NotTaken extends Error {}

/** The bill; null if the vendor refuses the input. */
export function billOrNull<B>(bill: () => B): B | null {
  try {
    return bill();
  } catch (error) {
    if (error instanceof NotTaken) return null;
    throw error;
  }
}

/** The biller of an upstream. It throws for a model that the table does not have. */
export function billerOf(upstream: string): Biller {
  return ({ model, input }, files) => {
    const rule = ruleOf(upstream, model);
    if (!rule) throw new Error(`no rule of ${upstream} for ${model}: add it to rules.ts`);
    return billFor(rule, input, files);
  };
}

function billFor(rule: VendorRule, sent: Input, files: Files): Bill {
  const input = { ...rule.defaults, ...sent };
  const rate = rule.rates.find(({ when = {} }) =>
    Object.entries(when).every(([field, value]) => String(input[field]) === String(value)),
  );
  if (!rate) throw new Error(`no rate of ${rule.of.join()} for ${JSON.stringify(sent)}`);
  const count = (rule.counts ?? []).reduce((all, field) => all * Number(input[field] ?? 1), 1);
  const size = sizeFor(rule, input, files);
  const seconds = secondsFor(rule, input, files);
  const [least, most] = rule.takes ?? [0, Infinity];
  if (seconds !== null && (seconds < least || seconds > most))
    throw new NotTaken(`it takes ${least} to ${most} seconds`);
  if (Math.max(size.width, size.height) > sideMax) throw new NotTaken('the picture is too long');
  const made: MadeOutput = { kind: rule.makes, ...size, ...(seconds !== null && { seconds }) };
  const billed = unitsOf(rule, { size, seconds: seconds ?? 0, count, input, files });
  const cut = rule.cut_to === undefined ? Infinity : lengthOf(input[rule.cut_to], files);
  if (seconds !== null) made.seconds = Math.min(seconds, cut);
  const usd = Number((rate.usd * billed + extraUsd(rule, input) * count).toPrecision(12));
  const added = Object.values(sent)
    .flat()
    .filter((value) => value === addedValue).length;
  return { usd: usd + added, made: Array.from({ length: count }, () => made) };
}

interface Units {
  size: { width: number; height: number };
  seconds: number;
  count: number;
  input: Input;
  files: Files;
}

function unitsOf({ bills, block }: VendorRule, { size, seconds, count, input }: Units): number {
  const pixels = size.width * size.height;
  switch (bills) {
    case 'image':
      return count;
    case 'request':
      return 1;
    case 'begun megapixel':
      return Math.ceil(pixels / megapixel.begun) * count;
    case 'output megapixel':
      return (pixels / megapixel.output) * count;
    case 'second':
      return block === undefined ? seconds : Math.ceil(seconds / block) * block;
    case 'image token':
      return outputTokens[String(input.quality)]![String(input.size)]! * count;
  }
}

/** The tokens of one square image of OpenAI's, by quality. */
const outputTokens: Record<string, Record<string, number>> = {
  low: { '1024x1024': 196 },
  medium: { '1024x1024': 439 },
  high: { '1024x1024': 1756 },
};

/** OpenAI's price of an image's prompt. */
function extraUsd({ bills }: VendorRule, input: Input): number {
  return bills === 'image token' ? wordTokens(String(input.prompt ?? '')) * 5e-6 : 0;
}

/** Latin letters and blanks: four a token. Anything else: a token for each byte. */
export function wordTokens(text: string): number {
  const plain = text.replace(/[^a-z ]/gi, '').length;
  return Math.ceil(plain / 4 + Buffer.byteLength(text) - plain);
}

function sizeFor({ size, bills }: VendorRule, input: Input, files: Files) {
  if (bills === 'image token') return sidesIn(input.size);
  if (size === undefined) return usual;
  if ('field' in size) return sidesIn(input[size.field]);
  if ('sides' in size) {
    const [width, height] = size.sides.map((field) => Number(input[field] ?? 1024));
    return { width: width!, height: height! };
  }
  const of = sizeOf(bytesOf(nameOf(input[size.of]), files));
  const scale = 'times' in size ? size.times : size.shorter_side / Math.min(of.width, of.height);
  return { width: Math.round(of.width * scale), height: Math.round(of.height * scale) };
}

function sidesIn(value: unknown): { width: number; height: number } {
  if (typeof value === 'object') return value as { width: number; height: number };
  const [, width, height] = /^(\d+)[x*](\d+)$/.exec(String(value)) ?? [];
  if (width !== undefined) return { width: Number(width), height: Number(height) };
  return named[String(value)] ?? usual;
}

function secondsFor({ seconds }: VendorRule, input: Input, files: Files): number | null {
  if (seconds === undefined) return null;
  if (typeof seconds === 'number') return seconds;
  if ('field' in seconds) return Number.parseFloat(String(input[seconds.field]));
  return lengthOf(input[seconds.file] ?? input.audio_file, files);
}

function lengthOf(value: unknown, files: Files): number {
  return secondsOf(bytesOf(nameOf(value), files));
}

/** The file's name in a media value that reached the vendor: an address, or a part of a form. */
function nameOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return (value as { file_name: string }).file_name;
}

function bytesOf(value: string, files: Files): Buffer {
  const [, inlined] = /^data:[^,]*;base64,(.*)$/s.exec(value) ?? [];
  if (inlined !== undefined) return Buffer.from(inlined, 'base64');
  const bytes = files.get(value) ?? files.get(value.split('/').pop()!);
  if (!bytes) throw new Error(`nobody handed ${value.slice(0, 80)} over`);
  return bytes;
}
