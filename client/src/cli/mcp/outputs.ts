import type { ContentBlock, ReadResourceResult } from '@modelcontextprotocol/sdk/types.js';
import { FareboxError, type MediaFile } from '../../index.ts';
import { isMediaFile } from '../../outputs.ts';
import { isObject, objectOf } from '../../unknown.ts';
import type { Desk } from './calls.ts';

/** One file of an output. */
export interface OutputFile {
  index: number;
  uri: string;
  url: string;
  file_name: string;
  content_type: string;
  file_size: number;
  [field: string]: unknown;
}

export interface Outputs {
  files: OutputFile[];
  /** Fields of the output besides its files, such as a text or a seed. */
  fields: Record<string, unknown>;
  blocks: ContentBlock[];
}

/** Larger images are only linked: programs refuse replies of more than about a megabyte. */
const inlineBytes = 600_000;
/** A resource is sent as one text, so larger videos are downloaded by their link. */
const resourceBytes = 32 * 1024 * 1024;
const listedOutputs = 200;

export const outputTemplate = 'farebox://requests/{request_id}/outputs/{index}';

export function outputUri(requestId: string, index: number): string {
  return `farebox://requests/${requestId}/outputs/${index}`;
}

/** The outputs of a completed request: small images inline, everything as a link. */
export async function readOutputs(desk: Desk, requestId: string): Promise<Outputs> {
  const { files, fields } = await describeOutputs(desk, requestId);
  const blocks: ContentBlock[] = [];
  let room = inlineBytes;
  for (const file of files) {
    if (isShown(file.content_type) && file.file_size <= room) {
      room -= file.file_size;
      blocks.push({
        type: 'image',
        data: await download(desk, file.url),
        mimeType: file.content_type,
      });
    }
    const link = linkOf(file);
    remember(desk, link);
    blocks.push({ type: 'resource_link', ...link, description: `Also at ${file.url}` });
  }
  return { files, fields, blocks };
}

/** The bytes behind `farebox://requests/<id>/outputs/<n>`. */
export async function readOutput(
  desk: Desk,
  uri: URL,
  requestId: string,
  index: string,
): Promise<ReadResourceResult> {
  const { files } = await describeOutputs(desk, requestId);
  const file = files.find((each) => String(each.index) === index);
  if (!file) throw new Error(`Request ${requestId} has ${files.length} outputs, counted from 0.`);
  if (file.file_size > resourceBytes) {
    throw new Error(`This file has ${file.file_size} bytes; fetch it from ${file.url}`);
  }
  const blob = await download(desk, file.url);
  return { contents: [{ uri: uri.href, mimeType: file.content_type, blob }] };
}

async function describeOutputs(
  { client }: Desk,
  requestId: string,
): Promise<Pick<Outputs, 'files' | 'fields'>> {
  const files: OutputFile[] = [];
  const fields = without(await client.response(requestId), (media) => {
    const index = Number(/\/output\/(\d+)(?:\?|$)/.exec(media.url)?.[1] ?? files.length);
    files.push({ ...media, index, uri: outputUri(requestId, index) });
  });
  return { files, fields: objectOf(fields) };
}

/** The output without its files, each of which is passed to `take`. */
function without(value: unknown, take: (media: MediaFile) => void): unknown {
  if (Array.isArray(value)) {
    const rest = value.map((each) => without(each, take)).filter((each) => each !== undefined);
    return rest.length === 0 && value.length > 0 ? undefined : rest;
  }
  if (isMediaFile(value)) return void take(value);
  if (!isObject(value)) return value;
  const rest = Object.entries(value).map(([name, each]) => [name, without(each, take)] as const);
  return Object.fromEntries(rest.filter(([, each]) => each !== undefined));
}

function isShown(contentType: string): boolean {
  return ['image/png', 'image/jpeg', 'image/webp', 'image/gif'].includes(contentType);
}

function linkOf(file: OutputFile): { uri: string; name: string; mimeType: string; size: number } {
  const { uri, file_name: name, content_type: mimeType, file_size: size } = file;
  return { uri, name, mimeType, size };
}

function remember({ made, server }: Desk, link: ReturnType<typeof linkOf>): void {
  if (made.some(({ uri }) => uri === link.uri)) return;
  made.push(link);
  if (made.length > listedOutputs) made.shift();
  server.sendResourceListChanged();
}

async function download({ client }: Desk, url: string): Promise<string> {
  const blob = await client.download(url);
  return Buffer.from(await blob.arrayBuffer()).toString('base64');
}

/**
 * True if the outputs have been deleted: files are kept for a day, replies of chats only if
 * requested.
 */
export function isExpired(error: unknown): boolean {
  return error instanceof FareboxError && error.code === 'expired';
}
