import { randomUUID } from 'node:crypto';
import { extensionOf } from '../../core/media/content-type.ts';
import { formBody } from '../../lib/outbound/multipart.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import { unreadIn, whyOfFault } from '../replies.ts';
import { InputRefused, mapMedia, sentBytes } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import type { JsonBody } from '../json-body.ts';
import type { InputFile, StartJob, StartOutcome, UpstreamTools } from '../upstream.ts';
import type { HttpJobOptions } from './options.ts';
import { textAt } from './path.ts';
import { verdictOf } from './verdict.ts';
import type { JobWire } from './wire.ts';

/**
 * Hands over callers' files: by upload to the service's storage if it has one, otherwise inline,
 * otherwise as a link.
 */

const replyMaxBytes = 256 * 1024;
const timeoutMs = 120_000;

/** A file could not be handed over, so the job was not sent. */
export class NotHandedOver extends Error {
  readonly outcome: StartOutcome;
  constructor(outcome: StartOutcome) {
    super('a file could not be uploaded to it');
    this.outcome = outcome;
  }
}

/**
 * The job's input in the service's form. A caller's public address stays unchanged. `body`: the
 * input's own body, which contains the files that are sent inline.
 *
 * @throws InputRefused, NotHandedOver
 */
export function handOverFiles(
  job: StartJob,
  options: HttpJobOptions,
  wire: JobWire,
  tools: Pick<UpstreamTools, 'download' | 'now'>,
  body: JsonBody,
): Promise<Record<string, unknown>> {
  const handed = new Map<string, Promise<string>>();
  const hand = async (value: string, field: string): Promise<string> => {
    const file = await openMedia(value, field, job, tools);
    const { upload, data_uri_max_bytes, link } = options.files;
    if (upload) {
      const { max_bytes } = upload;
      if (file.size > max_bytes) throw tooLarge(field, max_bytes);
      return uploaded(file, { ...options, upload }, wire, job.signal, tools.now());
    }
    if (file.size <= data_uri_max_bytes) return body.address(file, field, data_uri_max_bytes);
    if (link && file.link) return file.link;
    if (data_uri_max_bytes > 0) throw tooLarge(field, data_uri_max_bytes);
    throw new InputRefused(`${field} must be a public https address for this model.`);
  };
  return mapMedia(job, async (value, field) => {
    if (!Object.hasOwn(job.files, value) && /^https?:/i.test(value)) return value;
    // The same file in two fields is handed over once.
    const known = handed.get(value);
    if (known) return known;
    const placed = hand(value, field);
    handed.set(value, placed);
    return placed;
  });
}

function tooLarge(field: string, maxBytes: number): InputRefused {
  return new InputRefused(`${field} is larger than the ${maxBytes} bytes that this model takes.`);
}

async function uploaded(
  file: InputFile,
  options: Pick<HttpJobOptions, 'ok_when' | 'error'> & {
    upload: NonNullable<HttpJobOptions['files']['upload']>;
  },
  wire: JobWire,
  signal: AbortSignal,
  nowMs: number,
): Promise<string> {
  const { path, field, fields, reply: at } = options.upload;
  const form = formOf(file, field, fields);
  const sent = { url: wire.address({ path }, {}), method: 'POST', form };
  const limits = { maxBytes: replyMaxBytes, timeoutMs, signal };
  const reply = await wire.send(sent, limits).catch((error: unknown) => {
    // An upload creates no job, so it may always be repeated.
    if (!(error instanceof FetchError)) throw error;
    const unread = unreadIn(error);
    if (unread !== null) throw new NotHandedOver(unread.outcome);
    const { message } = error;
    throw new NotHandedOver({ outcome: 'not_accepted', why: whyOfFault(error), message });
  });
  const verdict = verdictOf(reply, options, nowMs);
  if (!verdict.ok) throw new NotHandedOver(withoutJob(verdict.outcome));
  const address = textAt(verdict.json, at);
  if (address !== undefined && address !== '') return address;
  const message = 'the reply to an upload names no address';
  throw new NotHandedOver({ outcome: 'not_accepted', why: 'busy', message });
}

/** Adapts an upload's outcome: no start was sent, so nothing is unknown. */
function withoutJob(outcome: StartOutcome): StartOutcome {
  if (outcome.outcome === 'rejected') return { ...outcome, unasked: true };
  if (outcome.outcome !== 'unknown') return outcome;
  return { outcome: 'not_accepted', why: 'busy', message: outcome.message };
}

/** A multipart form with one file and its additional fields. */
function formOf(file: InputFile, name: string, fields: Readonly<Record<string, string>>) {
  const texts = Object.entries(fields).map(([field, content]) => ({ name: field, content }));
  const { content_type, size } = file;
  const content = { size, chunks: sentBytes(file) };
  return formBody([...texts, { name, file_name: fileName(content_type), content_type, content }]);
}

/**
 * A random name, because some services replace a file of the same name, and a caller's name may be
 * hostile. It has an extension, because some services judge a file by it.
 */
function fileName(content_type: string): string {
  return `${randomUUID()}.${extensionOf(content_type)}`;
}
