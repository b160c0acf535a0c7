import pg from 'pg';
import { exactJson } from '../long-integers.ts';

/**
 * How the driver reads values. Each connection fixes the form of their texts (session.ts). A text
 * of another form is an error: the driver's own parsers would return null or another time.
 */

const { types } = pg;
/** The numbers of types, and of their lists. */
const int8 = [20, 1016] as const;
const timestamptz = [1184, 1185] as const;
const timestamp = [1114, 1115] as const;
const date = [1082, 1182] as const;
const interval = [1186, 1187] as const;
const json = [114, 199] as const;
const jsonb = [3802, 3807] as const;
const money = [790, 791] as const;
const texts = 1009;

// The driver's types declare neither the results of its parsers nor the numbers of its array types.
const parseDriverTime = types.getTypeParser(timestamptz[0]) as (text: string) => unknown;
const parseTexts = types.getTypeParser(texts as never) as (text: string) => (string | null)[];

/** Reads a time in ISO form. Throws for `infinity` and for other forms. */
function parseTime(text: string): Date {
  // `Date` reads the usual form in a third of the driver's time.
  const time =
    text.length < 33 && text.endsWith('+00') && text[4] === '-'
      ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
      : parseDriverTime(text);
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time;
  throw new TypeError(`PostgreSQL sent "${text}", which cannot be read as a time`);
}

/** Days and times without a zone are those of UTC, as in all our statements. */
function parseUtc(text: string): Date {
  const time = text.replace(/^(\S+)( BC)?$/, '$1 00:00:00$2');
  return parseTime(time.replace(/( BC)?$/, '+00$1'));
}

function refuse(text: string): never {
  throw new TypeError(`PostgreSQL sent "${text}" of a type that is read only as ::text`);
}

function read([type, list]: readonly [number, number], parse: (text: string) => unknown): void {
  types.setTypeParser(type as never, parse);
  types.setTypeParser(list as never, (text: string) =>
    parseTexts(text).map((item) => (item === null ? null : parse(item))),
  );
}

/** For all connections of this process. */
export function setParsers(): void {
  read(int8, BigInt);
  read(json, exactJson);
  read(jsonb, exactJson);
  read(timestamptz, parseTime);
  read(timestamp, parseUtc);
  read(date, parseUtc);
  read(interval, refuse);
  read(money, refuse);
}
