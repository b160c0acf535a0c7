import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { TProperties } from 'typebox';
import { parseUsd, formatUsd, microPerUsd } from '../core/price/money.ts';
import * as s from '../http/schemas/schema.ts';
import { CommandFailed } from '../operations/refusal.ts';
import type { Column, Line } from './bulk.ts';
import { readTime } from './moment.ts';
import type { Context, CommandOutput } from './output.ts';

/**
 * A command is a row: its words, the schemas of its input, and its work. Options, help and checks
 * are made from the schemas, which are those of the same call of the API if there is one.
 */

/** Returns what is printed, or prints it itself and returns the exit code if it is not 0. */
type Work<Given> = (given: Given, context: Context) => Promise<CommandOutput | number | void>;

/** The same work for all rows of a file. */
type Many<Given> = (rows: Line<Given>[], context: Context) => Promise<CommandOutput>;

interface RowExtras<Given> {
  /** The help shows it. */
  example?: readonly [call: string, note: string];
  /** `--from FILE` gives rows of the same input. */
  many?: Many<Given>;
}

/** Gives a command's work its context and prints the result. */
export type Run = (work: (context: Context) => ReturnType<Work<never>>) => Promise<void>;

/** Gives a command its words, its input and its action. */
export type CommandRow = (command: Command, run: Run) => void;

/**
 * A command's row. Its input is an object of operands in their order, and of options by name:
 * `limit_usd` is `--limit-usd`, and a flag that is true by default is `--no-NAME`. The work may be
 * loaded when it runs.
 */
export function row<const Input extends TProperties>(
  about: string,
  input: Input,
  work: Work<s.Static<s.TObject<Input>>>,
  { example, many }: RowExtras<s.Static<s.TObject<Input>>> = {},
): CommandRow {
  return (command, run) => {
    command.description(about);
    const { required = [] }: s.Schema = s.form<TProperties>(input);
    const fields = Object.entries<Field>(input).map(([name, schema]) => {
      const field = { name, schema, required: required.includes(name) };
      if (schema.operand) command.addArgument(argumentOf(field));
      const option = schema.operand ? null : optionOf(field);
      if (option) command.addOption(option);
      return { ...field, option };
    });
    if (many) addFrom(command);
    if (example)
      command.addHelpText('after', `\nExample (${example[1]}):\n  farebox ${example[0]}`);
    command.action(() => {
      const [values, operands] = [command.opts(), [...command.processedArgs]];
      if (many && typeof values.from === 'string') {
        demandAlone(command);
        const file = values.from;
        return run(async (context) => {
          const { readRows } = await import('./bulk.ts');
          return many(await readRows(file, fields.map(columnOf)), context);
        });
      }
      const given = fields.map(({ name, option }) => {
        const value = option ? values[option.attributeName()] : operands.shift();
        return [name, value === none ? null : value];
      });
      const typed = Object.fromEntries(given.filter(([, value]) => value !== undefined));
      return run((context) => work(typed, context));
    });
  };
}

/** Adds `--from FILE`, in place of everything else that the command takes. */
function addFrom(command: Command): void {
  const about = 'a CSV or NDJSON file with a row for each, all or none; - is stdin';
  command.option('--from <file>', about);
  command.on('option:from', () => {
    for (const option of command.options) option.makeOptionMandatory(false);
    for (const argument of command.registeredArguments) argument.argOptional();
  });
}

function demandAlone(command: Command): void {
  const typed = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (command.args.length > 0 || typed.length > 1)
    throw new CommandFailed('--from takes everything from the file. Leave out the rest.');
}

/** A schema with keywords of the command line. */
interface Field extends s.Schema {
  operand?: true;
  /** The name of a value in the help. */
  word?: string;
  /** `none` is null. */
  or_none?: true;
}

interface NamedField {
  name: string;
  schema: Field;
  required: boolean;
}

/** A word after the command's name. */
export function operand<S extends s.TSchema>(schema: S): S {
  return { ...schema, operand: true };
}

/** The same schema with words for the command line. `word` names a value in the help. */
export function says<S extends s.TSchema>(schema: S, description: string, word?: string): S {
  return { ...schema, description, ...(word && { word }) };
}

/** An option that may be left out, with words for the command line. */
export function may<S extends s.TSchema>(schema: S, description: string, word?: string) {
  return s.optional(says(schema, description, word));
}

/** The text `none` is null: it removes a limit. */
export function orNone<S extends s.TSchema>(schema: S): S {
  const { description }: s.Schema = schema;
  return { ...schema, description: `${description}, or none`, or_none: true };
}

/** An option without a value. */
export function flag(description: string) {
  return s.optional(s.boolean(description));
}

/** The options of many commands. */
export const ofAccount = s.optional(s.text('of one account', { word: 'email' }));
export const limitOf = (usual: number) => s.integer('how many', { minimum: 1, default: usual });

const spelled = (name: string) => name.replaceAll('_', '-');

function argumentOf({ name, schema, required }: NamedField): Argument {
  const { description, enum: choices } = schema;
  const word = choices?.join('|') ?? spelled(name);
  const argument = new Argument(required ? `<${word}>` : `[${word}]`, description);
  return choices ? argument.choices(choices.map(String)) : argument.argParser(readerOf(schema));
}

function optionOf({ name, schema, required }: NamedField): Option {
  const { description, type, items, default: usual } = schema;
  if (type === 'boolean')
    return new Option(`--${usual === true ? 'no-' : ''}${spelled(name)}`, description);
  const one: Field = items ?? schema;
  const value = `${schema.word ?? wordOf(name, one)}${items ? '...' : ''}`;
  const option = new Option(`--${spelled(name)} <${value}>`, description).default(usual);
  option.makeOptionMandatory(required);
  const choices = one.enum?.filter((each) => each !== null).map(String);
  if (choices) return option.choices(choices);
  const read = readerOf({ ...one, ...(schema.or_none && { or_none: true }) });
  if (!items) return option.argParser(read);
  return option.argParser((text, before: unknown) => {
    const value = read(text);
    return value === none ? none : [...(Array.isArray(before) ? before : []), value];
  });
}

function wordOf(name: string, schema: s.Schema): string {
  const { type, enum: choices, format } = schema;
  if (choices) return spelled(name);
  if (s.isMoney(schema)) return 'amount';
  if (type === 'integer') return 'n';
  if (format === 'date-time') return 'date';
  return format === 'moment' ? 'time' : 'text';
}

/** Reads a typed value as a call's body has it. Throws if it is not one. */
function readerOf(schema: Field): (text: string) => unknown {
  const read = plainReaderOf(schema);
  return schema.or_none ? (text) => (text === 'none' ? none : read(text)) : read;
}

/** The field as a column of a file. A list is an array, or texts between blanks. */
function columnOf({ name, schema, required }: NamedField): Column {
  const one: Field = schema.items ?? schema;
  const flags = one.type === 'boolean' ? [true, false] : one.enum;
  const choices = flags?.filter((each) => each !== null).map(String);
  const read = (cell: unknown) => {
    const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
    if (choices && !choices.includes(text))
      throw new InvalidArgumentError(`must be one of: ${choices.join(', ')}.`);
    return one.type === 'boolean' ? text === 'true' : readerOf(one)(text);
  };
  const readAll = (cell: unknown) =>
    (Array.isArray(cell) ? cell : String(cell).split(/\s+/)).map(read);
  const usual = schema.default;
  const demanded = required && usual === undefined;
  return { name, required: demanded, usual, read: schema.items ? readAll : read };
}

/** Commander takes null for a missing value. */
const none = Symbol('none');

function plainReaderOf(schema: s.Schema): (text: string) => unknown {
  const { type, pattern, format } = schema;
  if (type === 'integer') return (text) => wholeNumber(text, schema);
  if (pattern === s.signedMicroUsdPattern)
    return (text) => (text.startsWith('-') ? `-${microUsd(text.slice(1))}` : microUsd(text));
  if (s.isMoney(schema)) return microUsd;
  if (format === 'date-time') return (text) => readTime(text, 'end');
  if (format === 'moment') return (text) => readTime(text, 'start');
  return (text) => plainText(text, schema);
}

/** A text within its bounds, which count code points as a body's do. */
function plainText(
  text: string,
  { minLength: min = 0, maxLength, pattern, rule }: s.Schema,
): string {
  const { length } = [...text];
  const fits = pattern === undefined || new RegExp(pattern, 'u').test(text);
  if (fits && length >= min && length <= (maxLength ?? length)) return text;
  const range = maxLength === undefined ? `at least ${min}` : `${min} to ${maxLength}`;
  throw new InvalidArgumentError(
    `must be ${rule ?? (fits ? `a string of ${range} characters` : `like ${pattern}`)}.`,
  );
}

/** The maximum of whole numbers without a bound of their own. */
const usualMax = 999_999_999;

function wholeNumber(text: string, { minimum = 0, maximum }: s.Schema): number {
  const value = /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : NaN;
  if (value >= minimum && value <= (maximum ?? usualMax)) return value;
  const most = maximum === undefined ? '' : `, at most ${maximum}`;
  const range = minimum === 1 ? `above 0${most}` : `from ${minimum} to ${maximum ?? usualMax}`;
  throw new InvalidArgumentError(`must be an integer ${range}.`);
}

/** Far above any real amount, and far below the maximum of the balance's column. */
const usdMax = 1_000_000_000n * microPerUsd;

/** The micro-USD of a typed amount in USD. */
function microUsd(text: string): string {
  let amount: bigint;
  try {
    amount = parseUsd(text);
  } catch {
    throw new CommandFailed(
      `"${text}" is not an amount in USD, such as 25 or 0.50 (at most 6 decimals, and ${formatUsd(usdMax)}).`,
    );
  }
  if (amount > usdMax) throw new CommandFailed(`"${text}" is more than ${formatUsd(usdMax)} USD.`);
  return String(amount);
}
