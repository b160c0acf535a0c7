import { Command, InvalidArgumentError, Option } from 'commander';
import { usage } from './exits.ts';
import { wrap } from './terminal/terminal.ts';

/** The parts that verbs are declared with. */

export interface Context {
  /** Print only JSON on stdout. */
  json: boolean;
  /** Print no progress and no remarks on stderr. */
  quiet: boolean;
}

type Verb = (context: Context, ...args: never[]) => Promise<void>;

/** Text of a help page besides its arguments and options. */
export interface Remarks {
  /** Sentences, one paragraph each. */
  says: string[];
  /** A command line, and what it does. */
  examples: [string, string][];
}

const remarks = new WeakMap<Command, Remarks>();

export function remarksOf(command: Command): Remarks {
  return remarks.get(command) ?? { says: [], examples: [] };
}

export function verb(parent: Command, name: string, says: string): Command {
  return parent.command(name).description(says);
}

export function remark(command: Command, what: Remarks): void {
  remarks.set(command, what);
  const parts = what.says.map((text) => `\n${linesOf(text).join('\n')}`);
  const calls = what.examples.map(([call, says]) => `  ${call}\n      ${says}`);
  if (calls.length > 0) parts.push(`\n${bold('Examples:')}\n${calls.join('\n')}`);
  command.addHelpText('after', parts.join('\n'));
}

/** Loads a verb's file only when it is called. */
export function run(load: () => Promise<Verb>) {
  return async (...args: unknown[]) => {
    const command = args.at(-1);
    if (!(command instanceof Command)) throw new TypeError('Commander gives the command last');
    const odd = process.argv.slice(2).find((text) => text.includes('\uFFFD'));
    if (odd !== undefined) throw usage(`${JSON.stringify(odd)} is not in UTF-8.`);
    const { json, quiet } = command.optsWithGlobals();
    // Commander fills a verb's parameters from the arguments and options that are declared above.
    const verbOf = (await load()) as (context: Context, ...args: unknown[]) => Promise<void>;
    await verbOf({ json: Boolean(json), quiet: Boolean(quiet) }, ...args.slice(0, -1));
  };
}

export function linesOf(text: string, indent = 0): string[] {
  return wrap(text, Math.min(100, process.stdout.columns || 80) - indent);
}

/** Commander removes the codes if the stream has no colours. */
export function bold(text: string): string {
  return `\u001B[1m${text}\u001B[0m`;
}

/** Collects a repeated option. A list option would also take the arguments after it. */
export function several(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** An option with few values, which may be written in any case and with `-` for `_`. */
export function oneOf(flags: string, says: string, values: string[]): Option {
  const plain = (text: string) => text.toLowerCase().replaceAll('-', '_');
  return new Option(flags, says).choices(values).argParser((text) => {
    const found = values.find((value) => plain(value) === plain(text));
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed choices are ${values.join(', ')}.`);
  });
}

/** Refuses an option that is repeated: the last one would win silently. */
export function once(text: string, before: string | undefined): string {
  if (before !== undefined) throw new InvalidArgumentError('It is given twice.');
  return text;
}

export function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('It must be an integer above 0.');
  return Number(text);
}

/** A time with its zone, or the beginning (UTC) of a day. */
export function moment(text: string): Date {
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(
    text,
  );
  if (!isTime || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('It must be a time, such as 2027-01-31 or 2027-01-31T12:00Z.');
  return new Date(text);
}

/** An amount as prices are printed: `0.50` or `$0.50`. */
export function usd(text: string, before: string | undefined): string {
  if (!/^\$?\d{1,9}(\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError('It must be an amount in USD, such as 0.50.');
  return once(text.replace('$', ''), before);
}
