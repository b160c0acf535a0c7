import { codeOf } from '../unknown.ts';
import { keysOf } from '../records.ts';

/** Kinds of failure of an outbound call. */
export type FetchErrorKind =
  /** The guard refused the URL or the address behind it. */
  | 'blocked'
  /** The name did not resolve, or not in time. */
  | 'dns'
  /** No connection: refused, unreachable, or no local socket or port left. */
  | 'refused'
  /** The TLS connection failed, or the certificate does not fit. */
  | 'tls'
  | 'connect_timeout'
  /** The deadline of the whole call passed, or no data was transferred for too long. */
  | 'timeout'
  /** The connection broke. */
  | 'reset'
  | 'too_large'
  /**
   * Ended on our side: by the caller's signal, by `close()`, or because the request's body could
   * not be read.
   */
  | 'aborted'
  /** The reply is not HTTP, or the request cannot be written as HTTP. */
  | 'protocol';

export interface FetchErrorFacts {
  sent?: boolean;
  status?: number | null;
  cause?: unknown;
}

/**
 * The only kind of error that ends an outbound call. Its text names the host, and never the path,
 * query or headers.
 */
export class FetchError extends Error {
  readonly kind: FetchErrorKind;
  /**
   * True: bytes may have been sent, so the effect on the other side is unknown. False: the other
   * side certainly received nothing.
   */
  readonly sent: boolean;
  /** The reply's status, if its head was received before the error. */
  readonly status: number | null;

  constructor(kind: FetchErrorKind, message: string, facts: FetchErrorFacts = {}) {
    super(message, { cause: facts.cause });
    this.name = 'FetchError';
    this.kind = kind;
    this.sent = facts.sent ?? false;
    this.status = facts.status ?? null;
  }
}

/** Maps an error of a socket, of TLS, of the resolver or of undici to one of our kinds. */
export function kindOf(error: unknown, sent: boolean): FetchErrorKind {
  if (error instanceof FetchError) return error.kind;
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'dns';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  if (code === 'ETIMEDOUT') return sent ? 'reset' : 'connect_timeout';
  if (isTlsCode(code)) return 'tls';
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return 'aborted';
  if (isProtocolCode(code) || isParserError(error)) return 'protocol';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'reset';
  return sent ? 'reset' : 'refused';
}

/**
 * Reasons why a call failed, to follow the host name and a colon. They are for the person who gave
 * the address, while the messages of Node and undici are for developers.
 */
export const faults = {
  name_unresolved: 'its host name could not be resolved',
  not_public: 'does not lead to a public address',
  connection_refused: 'it refuses connections: nothing listens there',
  host_unreachable: 'it cannot be reached from here',
  connection_late: 'no connection could be made in time',
  unencrypted: 'an encrypted connection could not be established',
  certificate_of_other: 'its certificate is for another name',
  certificate_expired: 'its certificate has expired',
  certificate_early: 'its certificate is not valid yet',
  certificate_self_signed: 'its certificate is self-signed',
  certificate_untrusted: 'its certificate is from an issuer that is not trusted here',
  broken_off: 'the connection broke off',
  not_http: 'its answer is not HTTP',
  headers_too_long: 'the headers of its answer are too long',
  too_late: 'it did not finish in time',
  idle: 'no data was transferred for too long',
  given_up: 'given up',
  given_up_before: 'given up before it began',
} as const;

export type FetchFault = keyof typeof faults;

/** The fault that the message of a `FetchError` names; null if it names none. */
export function faultIn(message: string): FetchFault | null {
  return keysOf(faults).find((name) => message.endsWith(`: ${faults[name]}`)) ?? null;
}

/** The reason in words for the person who gave the address. */
export function reasonOf(kind: FetchErrorKind, error: Error): string {
  if (error instanceof FetchError) return error.message;
  if (kind === 'protocol' && isParserError(error)) return faults.not_http;
  const code = codeOf(error);
  const fault =
    kind === 'tls' ? (tlsFaults[code] ?? 'unencrypted') : (codeFaults[code] ?? kindFaults[kind]);
  return fault ? faults[fault] : error.message || kind;
}

const kindFaults: Partial<Record<FetchErrorKind, FetchFault>> = {
  connect_timeout: 'connection_late',
  reset: 'broken_off',
};

const codeFaults: Record<string, FetchFault> = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
  UND_ERR_HEADERS_OVERFLOW: 'headers_too_long',
};

const tlsFaults: Record<string, FetchFault> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_of_other',
  HOSTNAME_MISMATCH: 'certificate_of_other',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_early',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_self_signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
};

function isTlsCode(code: string): boolean {
  return (
    /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|CRL_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code) ||
    code === 'EPROTO' ||
    code === 'HOSTNAME_MISMATCH' ||
    code === 'INVALID_CA' ||
    code === 'PATH_LENGTH_EXCEEDED'
  );
}

function isProtocolCode(code: string): boolean {
  return (
    code.startsWith('UND_ERR_REQ_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code === 'UND_ERR_INVALID_ARG' ||
    code === 'UND_ERR_NOT_SUPPORTED'
  );
}

/** undici should give this error a code, but some versions lose it. */
function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}
