/**
 * What this application knows of its pictures. A real one has a table of its database here: in
 * memory they are gone with the process, and other processes do not see them.
 */
export interface Picture {
  prompt: string;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  charged_usd_micro?: string;
}

// Routes are bundled apart, and all of them need the same one.
const store = globalThis as { pictures?: Map<string, Picture> };
export const pictures = (store.pictures ??= new Map<string, Picture>());
