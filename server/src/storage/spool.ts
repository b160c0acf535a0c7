import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createBudget, type Budget } from '../lib/budget.ts';
import { freeBytesAt } from '../lib/files/free-bytes.ts';
import { once, type Bytes } from '../lib/streams.ts';
import { DiskStorage } from './disk.ts';
import { fromJson } from '../lib/json.ts';

/** A result that was fetched but not stored yet: its bytes and its details. */
export interface SpooledResult {
  attempt: number;
  kept_at: number;
  /** The details, as JSON. */
  told: unknown;
  /** The bytes of each medium, in order. */
  files: (() => Promise<Bytes>)[];
}

export interface SpoolEntry {
  id: string;
  attempt: number;
  account_id: string;
  told: unknown;
  files: (() => Promise<Bytes>)[];
}

interface Marker {
  attempt: number;
  account_id: string;
  kept_at: number;
  bytes: number;
  files: number;
  told: unknown;
}

export interface SpoolOptions {
  maxBytes: number;
  /** Bytes that must stay free on the spool's disk. */
  keepFreeBytes: number;
}

/** The spool is full, or this account's share of it. */
export class SpoolFull extends Error {
  constructor() {
    super('the spool of results is full');
    this.name = 'SpoolFull';
  }
}

/**
 * Keeps results on this machine's disk until the storage takes them. An entry is durable before
 * `keep` returns, and it is complete or absent, because its marker is written last. One account can
 * take at most half of the room that the others leave.
 */
export class Spool {
  readonly #disk: DiskStorage;
  readonly #dir: string;
  readonly #budget: Budget;
  readonly #keepFreeBytes: number;
  /** Bytes of the budget that each entry takes. */
  readonly #entries = new Map<string, { account_id: string; bytes: number }>();

  private constructor(dir: string, { maxBytes, keepFreeBytes }: SpoolOptions) {
    this.#dir = dir;
    this.#disk = new DiskStorage(dir);
    this.#budget = createBudget(maxBytes, null);
    this.#keepFreeBytes = keepFreeBytes;
  }

  /** Opens a spool, including entries that an earlier process left. */
  static async open(dir: string, options: SpoolOptions): Promise<Spool> {
    const spool = new Spool(dir, options);
    for (const id of readdirSync(dir)) {
      if (id.startsWith('.')) continue;
      const marker = await spool.#readMarker(id);
      if (marker) spool.#enter(id, marker.account_id, marker.bytes);
      // Another process may be writing this entry, but after so long it must have died.
      else if (Date.now() - statSync(join(dir, id)).mtimeMs > brokenMs)
        await spool.#disk.removeAll(id);
    }
    return spool;
  }

  /** Writes an entry. Throws `SpoolFull`, or an error of reading a file or writing to the disk. */
  async keep({ id, attempt, account_id, told, files }: SpoolEntry): Promise<void> {
    const held = { bytes: 0 };
    try {
      for (const [index, file] of files.entries()) {
        const bytes = this.#countBytes(await file(), account_id, held);
        await this.#disk.put(`${id}/${attempt}-${index}`, bytes);
      }
      const facts = { attempt, account_id, kept_at: Date.now(), bytes: held.bytes };
      const marker: Marker = { ...facts, files: files.length, told };
      await this.#disk.put(`${id}/${markerName}`, once(Buffer.from(JSON.stringify(marker))));
    } catch (error) {
      this.#budget.give(account_id, held.bytes);
      const written = files.map((_, index) => this.#disk.remove(`${id}/${attempt}-${index}`));
      await Promise.allSettled(written);
      throw error;
    }
    this.#leave(id);
    this.#entries.set(id, { account_id, bytes: held.bytes });
  }

  async find(id: string): Promise<SpooledResult | null> {
    const marker = await this.#readMarker(id);
    if (marker === null) {
      this.#leave(id);
      return null;
    }
    const { attempt, kept_at, told } = marker;
    const files = Array.from({ length: marker.files }, (_, index) => async () => {
      const bytes = await this.#disk.open(`${id}/${attempt}-${index}`);
      if (bytes === null) throw new Error(`output ${index} of ${id} is missing in the spool`);
      return bytes;
    });
    return { attempt, kept_at, told, files };
  }

  async remove(id: string): Promise<void> {
    await this.#disk.removeAll(id);
    this.#leave(id);
  }

  ids(): string[] {
    return [...this.#entries.keys()];
  }

  usage(): { results: number; bytes: number } {
    const bytes = [...this.#entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    return { results: this.#entries.size, bytes };
  }

  async #readMarker(id: string): Promise<Marker | null> {
    const bytes = await this.#disk.open(`${id}/${markerName}`);
    return bytes && fromJson<Marker>((await gatherBytes(bytes)).toString());
  }

  async *#countBytes(source: Bytes, owner: string, held: { bytes: number }): Bytes {
    const free = await freeBytesAt(this.#dir);
    let taken = 0;
    for await (const chunk of source) {
      taken += chunk.length;
      const hasRoom = taken <= free - this.#keepFreeBytes;
      if (!hasRoom || !this.#budget.take(owner, chunk.length)) throw new SpoolFull();
      held.bytes += chunk.length;
      yield chunk;
    }
  }

  /** Adds an existing entry to the budget, as 0 bytes if a lowered limit leaves no room for it. */
  #enter(id: string, account_id: string, bytes: number): void {
    const counted = this.#budget.take(account_id, bytes) ? bytes : 0;
    this.#entries.set(id, { account_id, bytes: counted });
  }

  #leave(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#budget.give(entry.account_id, entry.bytes);
  }
}

const markerName = 'result';
const brokenMs = 60 * 60 * 1000;

async function gatherBytes(bytes: Bytes): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
