/**
 * The images of this application. Use a table of your database instead: memory is lost with the
 * process, and other processes do not share it.
 */
export interface Picture {
  prompt: string;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  charged_usd_micro?: string;
}

// On globalThis, because routes are bundled separately and all of them need the same map.
const store = globalThis as { pictures?: Map<string, Picture> };
export const pictures = (store.pictures ??= new Map<string, Picture>());
