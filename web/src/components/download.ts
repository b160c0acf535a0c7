import type { MouseEvent } from 'react';
import { ApiFailure, fetchOrThrow } from '../api.ts';
import { showFailure } from './Failure.tsx';
import { save } from './save.ts';

/**
 * Saves a file under its name. Browsers use the name only for links to the page's own origin, so
 * files at other URLs are fetched first.
 */
export function download(
  event: MouseEvent,
  { url, file_name }: { url: string; file_name: string },
): void {
  if (new URL(url, location.href).origin === location.origin) return;
  event.preventDefault();
  void fetchAndSave(url, file_name).catch(showFailure);
}

async function fetchAndSave(url: string, file_name: string): Promise<void> {
  const reply = await fetchOrThrow(fetch(url));
  if (!reply.ok) throw new ApiFailure(reply.status, null);
  save(file_name, await fetchOrThrow(reply.blob()));
}
