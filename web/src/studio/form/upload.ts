import { fromJson } from '../../../../client/src/unknown.ts';
import { ApiFailure, ServiceUnreachable } from '../../api.ts';
import type { Media } from './schema.ts';

/** Uploads with progress, which `fetch` cannot report. */

export interface UploadedFile {
  file_id: string;
  content_type: string;
  size: number;
  expires_at: string;
}

export interface Upload {
  done: Promise<UploadedFile>;
  cancel: () => void;
}

/** `told` receives the uploaded share, from 0 to 1. */
export function upload(
  address: string,
  file: Blob,
  type: string,
  told: (share: number) => void,
): Upload {
  const request = new XMLHttpRequest();
  const done = new Promise<UploadedFile>((resolve, reject) => {
    request.upload.addEventListener('progress', ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) told(loaded / total);
    });
    request.addEventListener('load', () => {
      const said = parsed(request.responseText);
      if (request.status === 201 && said) resolve(said);
      else reject(new ApiFailure(request.status, said));
    });
    request.addEventListener('error', () => reject(new ServiceUnreachable()));
    request.addEventListener('abort', () => reject(new DOMException('cancelled', 'AbortError')));
    request.open('POST', address);
    request.setRequestHeader('content-type', type);
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

function parsed(text: string): UploadedFile | null {
  try {
    return fromJson(text);
  } catch {
    return null;
  }
}

const accepted: Record<Exclude<Media, 'any'>, string> = {
  image: 'image/*',
  video: 'video/*,.mkv',
  audio: 'audio/*,.flac,.m4a',
};

/** The `accept` attribute for the browser's file dialog. */
export function acceptOf(media: Media): string {
  return media === 'any' ? Object.values(accepted).join(',') : accepted[media];
}

/** The type of a file by its first bytes, as the service detects it; null if unknown. */
export async function typeOf(file: File): Promise<string | null> {
  const { fileTypeFromBlob } = await import('file-type');
  const type = (await fileTypeFromBlob(file))?.mime ?? null;
  const isText = type === null || type === 'application/xml';
  return isText && file.type === 'image/svg+xml' ? file.type : type;
}

/** Whether a field accepts a file of this type. A container of films may have only sound. */
export function fits(media: Media, type: string | null): boolean {
  if (media === 'any' || type?.startsWith(`${media}/`) === true) return true;
  return media === 'audio' && /^video\/(?:mp4|quicktime|webm|matroska)$/.test(type ?? '');
}

/** Files uploaded by this page, shown without downloading them again. */
const shown = new Map<string, string>();
const namePlace = (file_id: string) => `farebox-file ${file_id}`;

export function remember(file_id: string, file: File): void {
  shown.set(file_id, URL.createObjectURL(file));
  try {
    // Stored for as long as the drafts that refer to the file.
    sessionStorage.setItem(namePlace(file_id), file.name);
  } catch {
    // The browser has no room: the file is shown without its name.
  }
}

export function uploadedName(file_id: string): string | undefined {
  return shown.get(file_id);
}

export function nameOf(file_id: string): string | null {
  return sessionStorage.getItem(namePlace(file_id));
}
