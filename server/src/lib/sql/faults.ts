import { codeOf, fieldOf, messageOf } from '../unknown.ts';

/** Kinds of database errors. */

/** SQLSTATEs of a database that cannot work now. The statement may have taken effect. */
const unavailableCodes = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53200',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '57014',
]);
/** Error codes of a socket, or of resolving its host name. */
const unreachable = /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET)/;
const readOnly = '25006';
/** No space on the disk, or the disk fails. */
const diskCodes = new Set(['53100', '58030']);
/**
 * A file system that is mounted read-only, a quota and a limit of the file size have no codes of
 * their own: the error comes from one of these source files of PostgreSQL.
 */
const vagueCodes = new Set(['XX000', '42501']);
const diskSources = new Set(['md.c', 'fd.c', 'buffile.c']);

/** A connection's settings would change what we read or lose, and cannot be set from here. */
export class UnfitSession extends Error {}

/** The server has answered that it takes no writes. */
export class ReadOnlyDatabase extends Error {
  readonly code = readOnly;
}

/** True if the database could not be reached or gave up: the caller may try again later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnfitSession || refusesWrites(error)) return true;
  const code = codeOf(error);
  if (unavailableCodes.has(code) || unreachable.test(code)) return true;
  return /timeout|terminated|Connection (ended|closed)|not queryable|pool after calling end/i.test(
    error.message,
  );
}

/** True if the server has answered that it is read-only, or that it cannot write to its disk. */
export function refusesWrites(error: unknown): boolean {
  const code = codeOf(error);
  if (code === readOnly || diskCodes.has(code)) return true;
  return vagueCodes.has(code) && diskSources.has(String(fieldOf(error, 'file')));
}

export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === readOnly;
}

/** True if the database does not do its work, rather than having cancelled one slow statement. */
export function isAway(error: unknown): boolean {
  if (!isUnavailable(error) || codeOf(error) === '57014') return false;
  // This process has closed the database itself.
  return !/pool after calling end/.test(messageOf(error));
}

/** True if the values of one item made the statement fail, so the others can succeed without it. */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error));
}
