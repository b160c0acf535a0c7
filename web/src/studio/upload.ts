import { ApiFailure, Unreachable } from '../api.ts';
import type { Media } from './models.ts';

/** Files on their way to the service: `fetch` cannot tell how far an upload has come. */

export interface Uploaded {
  file_id: string;
  content_type: string;
  size: number;
}

export interface Upload {
  done: Promise<Uploaded>;
  cancel: () => void;
}

/** `told` hears the share that has arrived, from 0 to 1. */
export function upload(address: string, file: File, told: (share: number) => void): Upload {
  const request = new XMLHttpRequest();
  const done = new Promise<Uploaded>((resolve, reject) => {
    request.upload.addEventListener('progress', ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) told(loaded / total);
    });
    request.addEventListener('load', () => {
      const said = parsed(request.responseText);
      if (request.status === 201) resolve(said as unknown as Uploaded);
      else reject(new ApiFailure(request.status, (said.error ?? {}) as object));
    });
    request.addEventListener('error', () => reject(new Unreachable()));
    request.addEventListener('abort', () => reject(new DOMException('cancelled', 'AbortError')));
    request.open('POST', address);
    request.setRequestHeader('content-type', typeOf(file));
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Browsers do not know every ending. */
const endings: Record<string, string> = {
  mkv: 'video/x-matroska',
  mov: 'video/quicktime',
  flac: 'audio/flac',
  avif: 'image/avif',
  m4a: 'audio/mp4',
};

function typeOf({ type, name }: File): string {
  if (type !== '') return type;
  return endings[name.split('.').pop()?.toLowerCase() ?? ''] ?? 'application/octet-stream';
}

const accepted: Record<Exclude<Media, 'any'>, string> = {
  image: 'image/*',
  video: 'video/*,.mkv',
  audio: 'audio/*,.flac,.m4a',
};

/** For the browser's own dialogue. */
export function acceptOf(media: Media): string {
  return media === 'any' ? Object.values(accepted).join(',') : accepted[media];
}

/** What this page has uploaded, so that it is shown without being fetched back. */
const shown = new Map<string, string>();

export function remember(file_id: string, file: File): void {
  shown.set(file_id, URL.createObjectURL(file));
}

export function rememberedAs(file_id: string): string | undefined {
  return shown.get(file_id);
}
