/**
 * A small S3 that enforces the rules that our client could break: it recomputes signatures,
 * requires lengths, has a minimum size of parts, shows an object only when it is complete, and
 * pages lists.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface S3Call {
  method: string;
  key: string;
  query: Record<string, string>;
  headers: Record<string, string>;
}

/**
 * The reply to a call instead of its answer: an error, a broken connection, or the effect of the
 * function.
 */
type Fault = { status: number; code: string } | 'cut' | ((res: ServerResponse) => void) | null;

interface Upload {
  key: string;
  parts: Map<number, Buffer>;
}

interface S3ServerOptions {
  region?: string;
  pageSize?: number;
  minPartBytes?: number;
}

export const credentials = { accessKeyId: 'AKTEST', secretAccessKey: 'se/cr+et' };

export class S3Server {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, Upload>();
  readonly calls: S3Call[] = [];
  /** Runs before a call is served; may delay the call or return a fault. */
  before: (call: S3Call) => Fault | Promise<Fault> = () => null;
  /** When lists say that the objects were stored; null: now. */
  modified: Date | null = null;
  readonly #options: Required<S3ServerOptions>;
  readonly #http = createServer((req, res) => void this.#serve(req, res));

  constructor(options: S3ServerOptions = {}) {
    this.#options = {
      region: 'eu-test-1',
      pageSize: 1000,
      minPartBytes: 5 * 1024 * 1024,
      ...options,
    };
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/bucket`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#http.close(resolve));
    this.#http.closeAllConnections();
    await closed;
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#http.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://server');
    const call: S3Call = {
      method: req.method ?? '',
      key: decodeURIComponent(url.pathname.replace(/^\/bucket\/?/, '')),
      query: Object.fromEntries(url.searchParams),
      headers: req.headers as Record<string, string>,
    };
    this.calls.push(call);
    const fault = await this.before(call);
    if (fault === 'cut') return void req.socket.destroy();
    if (typeof fault === 'function') return fault(res);
    const body = await bodyOf(req);
    if (body === null) return;
    if (fault) return fail(res, fault.status, fault.code);
    const denied = refusal({ ...call, path: url.pathname, body, region: this.#options.region });
    if (denied) return fail(res, 403, denied);
    this.#answer(call, body, res);
  }

  #answer(call: S3Call, body: Buffer, res: ServerResponse): void {
    const { method, key, query } = call;
    if (key === '') return this.#list(query, res);
    if (method === 'POST' && 'uploads' in query) return this.#begin(key, res);
    if ('uploadId' in query) return this.#multipart(call, body, res);
    if (method === 'PUT') {
      if (call.headers['content-length'] === undefined)
        return fail(res, 411, 'MissingContentLength');
      this.objects.set(key, body);
      res.writeHead(200, { etag: etagOf(body) }).end();
    } else if (method === 'DELETE') {
      this.objects.delete(key);
      res.writeHead(204).end();
    } else {
      this.#read(call, res);
    }
  }

  #read({ method, key, headers }: S3Call, res: ServerResponse): void {
    const object = this.objects.get(key);
    if (!object) return fail(res, 404, 'NoSuchKey');
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers['range'] ?? '');
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Math.min(Number(range[2]), object.length - 1) : object.length - 1;
    if (range && start >= object.length) return fail(res, 416, 'InvalidRange');
    const bytes = object.subarray(start, end + 1);
    res.writeHead(range ? 206 : 200, {
      'content-length': bytes.length,
      etag: etagOf(object),
      ...(range ? { 'content-range': `bytes ${start}-${end}/${object.length}` } : {}),
    });
    res.end(method === 'HEAD' ? undefined : bytes);
  }

  #list(query: Record<string, string>, res: ServerResponse): void {
    const after = query['continuation-token'] ?? '';
    const size = Math.min(Number(query['max-keys'] ?? 1000), this.#options.pageSize);
    const all = [...this.objects.keys()].sort();
    const left = all.filter((key) => key.startsWith(query['prefix'] ?? '') && key > after);
    const page = left.slice(0, size);
    const more = left.length > size;
    const token = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const at = `<LastModified>${(this.modified ?? new Date()).toISOString()}</LastModified>`;
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key}</Key>${at}<Size>${this.objects.get(key)!.length}</Size></Contents>`,
    );
    const truncated = `<IsTruncated>${more}</IsTruncated>`;
    sendXml(
      res,
      200,
      `<ListBucketResult>${truncated}${token}${contents.join('')}</ListBucketResult>`,
    );
  }

  #begin(key: string, res: ServerResponse): void {
    const id = randomUUID();
    this.uploads.set(id, { key, parts: new Map() });
    const inner = `<Key>${key}</Key><UploadId>${id}</UploadId>`;
    sendXml(res, 200, `<InitiateMultipartUploadResult>${inner}</InitiateMultipartUploadResult>`);
  }

  #multipart({ method, key, query }: S3Call, body: Buffer, res: ServerResponse): void {
    const id = query['uploadId'] ?? '';
    const upload = this.uploads.get(id);
    if (!upload || upload.key !== key) return fail(res, 404, 'NoSuchUpload');
    if (method === 'PUT') {
      upload.parts.set(Number(query['partNumber']), body);
      res.writeHead(200, { etag: etagOf(body) }).end();
    } else if (method === 'DELETE') {
      this.uploads.delete(id);
      res.writeHead(204).end();
    } else {
      this.#complete(id, upload, body.toString(), res);
    }
  }

  #complete(id: string, { key, parts }: Upload, xml: string, res: ServerResponse): void {
    const named = [...xml.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const bodies = named.map(([, number, etag]) => {
      const part = parts.get(Number(number));
      return part && etagOf(part) === `"${etag}"` ? part : null;
    });
    const numbers = named.map(([, number]) => Number(number));
    if (numbers.some((number, i) => number !== i + 1)) return fail(res, 400, 'InvalidPartOrder');
    const whole = bodies.filter((part) => part !== null);
    if (whole.length === 0 || whole.length < bodies.length) return fail(res, 400, 'InvalidPart');
    const small = whole.slice(0, -1).some((part) => part.length < this.#options.minPartBytes);
    if (small) return fail(res, 400, 'EntityTooSmall');
    this.objects.set(key, Buffer.concat(whole));
    this.uploads.delete(id);
    const etag = `<ETag>&quot;${randomUUID()}-${whole.length}&quot;</ETag>`;
    sendXml(res, 200, `<CompleteMultipartUploadResult>${etag}</CompleteMultipartUploadResult>`);
  }
}

interface SignedCall extends S3Call {
  path: string;
  body: Buffer;
  region: string;
}

/**
 * Why the call's signature is invalid; null if it is valid. AWS Signature Version 4, header form.
 */
export function refusal(call: SignedCall, keys = credentials, now = Date.now()): string | null {
  const shape =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const found = shape.exec(call.headers['authorization'] ?? '');
  if (!found) return 'AccessDenied';
  const [, access = '', day = '', region = '', names = '', signature = ''] = found;
  if (access !== keys.accessKeyId) return 'InvalidAccessKeyId';
  const moment = call.headers['x-amz-date'] ?? '';
  const iso = moment.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (!(Math.abs(Date.parse(iso) - now) < 15 * 60_000)) return 'RequestTimeTooSkewed';
  if (region !== call.region || !moment.startsWith(day)) return 'AuthorizationHeaderMalformed';
  const signed = names.split(';');
  const missing = Object.keys(call.headers).filter((name) => name.startsWith('x-amz-'));
  if (!['host', ...missing].every((name) => signed.includes(name))) return 'AccessDenied';
  const payload = call.headers['x-amz-content-sha256'] ?? '';
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(call.body))
    return 'XAmzContentSHA256Mismatch';
  const query = Object.entries(call.query).map((pair) => pair.map(escaped).join('='));
  const lines = signed.map((name) => `${name}:${(call.headers[name] ?? '').trim()}\n`).join('');
  const canonical = [call.method, call.path, query.sort().join('&'), lines, names, payload].join(
    '\n',
  );
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', moment, scope, sha256(Buffer.from(canonical))].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${keys.secretAccessKey}`,
  );
  const right = createHmac('sha256', key).update(toSign).digest();
  return timingSafeEqual(right, Buffer.from(signature, 'hex')) ? null : 'SignatureDoesNotMatch';
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function fail(res: ServerResponse, status: number, code: string): void {
  sendXml(res, status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function sendXml(res: ServerResponse, status: number, xml: string): void {
  res.writeHead(status, { 'content-type': 'application/xml' });
  res.end(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}`);
}

/** The body; null if the caller left before its end, so that nothing may be stored. */
async function bodyOf(req: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of req) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch {
    return null;
  }
}
