import { createHmac, timingSafeEqual } from 'node:crypto';
import { CallbackRefused, type Callback } from '../upstream.ts';

/** Verifies callbacks signed with HMAC-SHA256; data describe how each service signs. */

export interface SignatureData {
  /** Names of the headers that contain the signature, the call's id and its time (unix seconds). */
  header: string;
  id_header?: string;
  timestamp_header?: string;
  /**
   * Form of the header's value, such as `v1,{signature}` or `t={timestamp},v1={signature}`. A
   * header may contain several values of this form, separated by spaces.
   */
  form?: string;
  /** The signed text, such as `{id}.{timestamp}.{body}`; `{handle}` is the job's id in the body. */
  signed: string;
  encoding: 'hex' | 'base64';
  /** How the secret becomes the key: as text, or decoded. `secret_prefix` is removed first. */
  secret?: 'text' | 'base64' | 'hex';
  secret_prefix?: string;
  tolerance_seconds?: number;
}

export type SignatureForm = 'none' | 'standard-webhooks' | SignatureData;

export type Signature = Required<Omit<SignatureData, 'id_header' | 'timestamp_header'>> &
  Pick<SignatureData, 'id_header' | 'timestamp_header'> & { pattern: RegExp };

const standardWebhooks: SignatureData = {
  header: 'webhook-signature',
  id_header: 'webhook-id',
  timestamp_header: 'webhook-timestamp',
  form: 'v1,{signature}',
  signed: '{id}.{timestamp}.{body}',
  encoding: 'base64',
  secret: 'base64',
  secret_prefix: 'whsec_',
};
const candidatesMax = 8;
const headerMax = 4096;

/**
 * Null: the service does not sign. Throws an Error with words for the operator if the form
 * contradicts itself.
 */
export function parseSignature(form: SignatureForm): Signature | null {
  if (form === 'none') return null;
  const data = form === 'standard-webhooks' ? standardWebhooks : form;
  const shape = data.form ?? '{signature}';
  const { signed, timestamp_header, id_header } = data;
  if (!shape.includes('{signature}')) throw new Error('signature.form must contain {signature}');
  const hasTime = timestamp_header !== undefined || shape.includes('{timestamp}');
  if (signed.includes('{timestamp}') !== hasTime)
    throw new Error(
      'signature: {timestamp} in signed needs timestamp_header or {timestamp} in form, and each of these needs {timestamp} in signed',
    );
  if (signed.includes('{id}') !== (id_header !== undefined))
    throw new Error(
      'signature: {id} in signed needs id_header, and id_header needs {id} in signed',
    );
  if (!signed.includes('{body}') && !signed.includes('{handle}'))
    throw new Error('signature.signed must contain {body} or {handle}');
  return {
    secret: 'text',
    secret_prefix: '',
    tolerance_seconds: 300,
    ...data,
    form: shape,
    header: data.header.toLowerCase(),
    ...(id_header !== undefined && { id_header: id_header.toLowerCase() }),
    ...(timestamp_header !== undefined && { timestamp_header: timestamp_header.toLowerCase() }),
    pattern: patternOf(shape),
  };
}

/**
 * `handle` is the job's id in the body.
 * @throws CallbackRefused
 */
export function verifySignature(
  signature: Signature,
  { headers, body }: Pick<Callback, 'headers' | 'body'>,
  handle: string | null,
  secret: string,
  nowMs: number,
): void {
  const header = headers[signature.header] ?? '';
  if (header === '' || header.length > headerMax)
    throw new CallbackRefused(`the header ${signature.header} is missing`);
  const { id_header, timestamp_header } = signature;
  const id = id_header === undefined ? '' : (headers[id_header] ?? '');
  const stated = timestamp_header === undefined ? undefined : (headers[timestamp_header] ?? '');
  const key = keyOf(secret, signature);
  for (const entry of header.split(/\s+/).slice(0, candidatesMax)) {
    const { signature: given, timestamp = stated ?? '' } =
      signature.pattern.exec(entry)?.groups ?? {};
    if (given === undefined) continue;
    const expected = createHmac('sha256', key);
    for (const part of signature.signed.split(/(\{\w+\})/))
      expected.update(valueOf(part, { id, timestamp, handle: handle ?? '', body }));
    if (!isSame(Buffer.from(given, signature.encoding), expected.digest())) continue;
    if (signature.signed.includes('{timestamp}'))
      checkAge(timestamp, signature.tolerance_seconds, nowMs);
    return;
  }
  throw new CallbackRefused('its signature is wrong');
}

function valueOf(part: string, values: Record<string, string | Buffer>): string | Buffer {
  return /^\{\w+\}$/.test(part) ? (values[part.slice(1, -1)] ?? '') : part;
}

function checkAge(timestamp: string, tolerance_seconds: number, nowMs: number): void {
  const age = Math.abs(nowMs / 1000 - Number(timestamp || NaN));
  if (!(age <= tolerance_seconds))
    throw new CallbackRefused('its timestamp differs too much from our clock');
}

function keyOf(secret: string, { secret: kind, secret_prefix }: Signature): Buffer {
  const text = secret.startsWith(secret_prefix) ? secret.slice(secret_prefix.length) : secret;
  return kind === 'text' ? Buffer.from(text, 'utf8') : Buffer.from(text, kind);
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** A pattern for the form; everything but the two placeholders is literal. */
function patternOf(form: string): RegExp {
  const parts = form.split(/(\{signature\}|\{timestamp\})/).map((part) => {
    if (part === '{signature}') return '(?<signature>[A-Za-z0-9+/=_-]{1,200})';
    if (part === '{timestamp}') return '(?<timestamp>\\d{1,20})';
    return part.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
