import { isObject, type Json } from '../../lib/json.ts';
import { isGiven, type Check } from '../check.ts';
import { ApiError } from '../errors.ts';

/** Pairs of texts that a caller gives a request. They are stored; no upstream gets them. */
export type Metadata = Record<string, string>;

/** OpenAI's limits. */
const pairsMax = 16;
const nameMax = 64;
const valueMax = 512;

export const metadataHeader = 'x-metadata';

const metadataCheck: Check = {
  is: `an object of at most ${pairsMax} texts of at most ${valueMax} characters, with names of 1 to ${nameMax} characters, all without NUL`,
  test: (value) => {
    const pairs = isObject(value) ? Object.entries(value) : null;
    return (
      pairs !== null &&
      pairs.length <= pairsMax &&
      pairs.every(([name, said]) => name !== '' && isText(name, nameMax) && isText(said, valueMax))
    );
  },
};

/** PostgreSQL cannot store NUL and halves of surrogate pairs. */
function isText(value: unknown, max: number): boolean {
  return (
    typeof value === 'string' &&
    value.length <= max &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}

/**
 * The metadata in `value`, or null if there is none. `field`: the body's field or the header that
 * it comes from, for errors.
 *
 * @throws ApiError `bad_request`
 */
export function readMetadata(value: unknown, field: string): Metadata | null {
  if (!isGiven(value)) return null;
  if (!metadataCheck.test(value)) throw badMetadata(field, metadataCheck.is);
  const given = value as Metadata;
  return Object.keys(given).length === 0 ? null : given;
}

/** The metadata in `x-metadata` headers: one JSON object in UTF-8 or with escapes. */
export function metadataIn(headers: readonly string[]): Metadata | null {
  const [header, ...more] = headers;
  if (header === undefined) return null;
  if (more.length > 0) throw badMetadata(metadataHeader, 'sent once');
  return readMetadata(parsed(header), metadataHeader);
}

/** @throws ApiError `bad_request` if both are given */
export function eitherMetadata(inBody: Metadata | null, inHeader: Metadata | null) {
  if (inBody === null || inHeader === null) return inBody ?? inHeader;
  throw new ApiError('bad_request', {
    message: `Send metadata either in the body or in ${metadataHeader}, not in both.`,
    param: metadataHeader,
  });
}

function parsed(header: string): unknown {
  try {
    // Node reads each byte of a header as one character.
    const json = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'));
    return JSON.parse(json);
  } catch {
    throw badMetadata(metadataHeader, 'a JSON object, such as {"customer":"42"}, in UTF-8');
  }
}

const filterPrefix = 'metadata.';

/** The pairs that a query asks for as `metadata.NAME=VALUE`, or null if it asks for none. */
export function metadataAsked(query: Json): Metadata | null {
  const asked = Object.entries(query).filter(([name]) => name.startsWith(filterPrefix));
  for (const [name, value] of asked) {
    const param = name.slice(0, 80);
    if (Array.isArray(value)) throw badMetadata(param, 'given once');
    readMetadata({ [nameIn(name)]: value }, param);
  }
  const pairs = asked.map(([name, value]) => [nameIn(name), value]);
  return readMetadata(Object.fromEntries(pairs), 'metadata');
}

/** The NAME of the group `metadata.NAME`; null for any other group and for an invalid name. */
export function nameAsked(group: string): string | null {
  if (!group.startsWith(filterPrefix)) return null;
  const name = nameIn(group);
  return metadataCheck.test({ [name]: '' }) ? name : null;
}

/** The NAME of `metadata.NAME`. */
function nameIn(parameter: string): string {
  return parameter.slice(filterPrefix.length);
}

function badMetadata(field: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `${field} must be ${rule}.`, param: field });
}
