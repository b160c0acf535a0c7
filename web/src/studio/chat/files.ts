import { everyMessage } from './branches.ts';
import { inAll, type ChatFile, type Conversation } from './conversations.ts';
import { edit, find, type Ask } from './talk.ts';
import { remember, upload } from '../form/upload.ts';

/**
 * The files of conversations, stored in this browser: the service has an upload for some days only,
 * and a conversation that is opened later uploads its files again.
 */

const storeName = 'files';

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open('farebox-chat-files', 1);
    asked.addEventListener('upgradeneeded', () => asked.result.createObjectStore(storeName));
    asked.addEventListener('success', () => resolve(asked.result));
    asked.addEventListener('error', () => reject(asked.error ?? new Error('no store')));
  });
}

/** Resolves with null if the browser stores nothing, or has no room. */
async function inStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | null> {
  try {
    const base = await openDatabase();
    const asked = work(base.transaction(storeName, mode).objectStore(storeName));
    return await new Promise<T>((resolve, reject) => {
      asked.addEventListener('success', () => resolve(asked.result));
      asked.addEventListener('error', () => reject(asked.error ?? new Error('not done')));
    }).finally(() => base.close());
  } catch {
    return null;
  }
}

function placeOf(account_id: string, file_id: string): string {
  return `${account_id} ${file_id}`;
}

export async function keepFile(account_id: string, file_id: string, file: Blob): Promise<void> {
  await inStore('readwrite', (store) => store.put(file, placeOf(account_id, file_id)));
}

export async function keptFile(account_id: string, file_id: string): Promise<Blob | null> {
  return (
    (await inStore<Blob>('readonly', (store) => store.get(placeOf(account_id, file_id)))) ?? null
  );
}

/** Deletes files that no conversation names. */
export async function sweepFiles(account_id: string, conversations: Conversation[]): Promise<void> {
  const all = conversations.flatMap(filesOf);
  const named = new Set(all.map(({ file_id }) => placeOf(account_id, file_id)));
  const kept = (await inStore('readonly', (store) => store.getAllKeys())) ?? [];
  for (const place of kept)
    if (String(place).startsWith(placeOf(account_id, '')) && !named.has(String(place)))
      await inStore('readwrite', (store) => store.delete(place));
}

export function filesOf(conversation: Pick<Conversation, 'messages' | 'branches'>): ChatFile[] {
  return everyMessage(conversation).flatMap(({ files = [] }) => files);
}

/** The files of these conversations as `data:` addresses; those that are not kept are left out. */
export async function filesAsData(
  account_id: string,
  conversations: Conversation[],
): Promise<Record<string, string>> {
  const data: Record<string, string> = {};
  for (const { file_id } of conversations.flatMap(filesOf)) {
    const file = file_id in data ? null : await keptFile(account_id, file_id);
    if (file) data[file_id] = await dataOf(file);
  }
  return data;
}

function dataOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('not read')));
    reader.readAsDataURL(file);
  });
}

/** Keeps the files of an exported conversation. */
export async function keepData(account_id: string, data: Record<string, string>): Promise<void> {
  for (const [file_id, address] of Object.entries(data)) {
    const [, type = '', base64 = ''] = /^data:([^;]*);base64,(.*)$/.exec(address) ?? [];
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0)!);
    await keepFile(account_id, file_id, new Blob([bytes], { type }));
  }
}

const renewing = new Set<string>();

/** Uploads again what the service has no longer; marks what this browser has not either. */
export async function renewFiles({ account_id, id, path }: Ask): Promise<void> {
  const conversation = find(account_id, id);
  const now = new Date().toISOString();
  const over = (conversation ? filesOf(conversation) : []).filter(
    ({ expires_at, gone }) => !gone && expires_at !== undefined && expires_at < now,
  );
  if (over.length === 0 || renewing.has(id)) return;
  renewing.add(id);
  const renewed = new Map<string, ChatFile>();
  for (const file of over) {
    if (renewed.has(file.file_id)) continue;
    const again = await uploadedAgain(account_id, file, path('/v1/files')).catch(() => null);
    if (again) renewed.set(file.file_id, again);
  }
  renewing.delete(id);
  const changed = (file: ChatFile) => renewed.get(file.file_id) ?? file;
  edit(account_id, id, (before) =>
    inAll(before, (messages) =>
      messages.map((each) => (each.files ? { ...each, files: each.files.map(changed) } : each)),
    ),
  );
}

async function uploadedAgain(
  account_id: string,
  file: ChatFile,
  address: string,
): Promise<ChatFile> {
  const kept = await keptFile(account_id, file.file_id);
  if (!kept) return { ...file, gone: true };
  const { file_id, expires_at } = await upload(address, kept, kept.type, () => {}).done;
  remember(file_id, new File([kept], file.name));
  await keepFile(account_id, file_id, kept);
  return { ...file, file_id, expires_at };
}
