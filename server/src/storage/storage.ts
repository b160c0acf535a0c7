/**
 * Where media bytes live. A key is a path-like name made by us from ids only, never from a caller's
 * text.
 * An object appears whole or not at all: a reader never sees half of one, a crash leaves no half
 * behind under its key.
 */
export interface Storage {
  /**
   * Streams into the store; rejects with `TooLarge` once `maxBytes` is passed, leaving nothing.
   * Replaces an older object.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options?: { maxBytes?: number; signal?: AbortSignal },
  ): Promise<StoredObject>;
  /**
   * Null where there is none. `range` is inclusive at both ends, as in HTTP, and lies inside the
   * object.
   */
  open(
    key: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * A path on this machine's disk that holds the whole object, for tools that need one; call `done`
   * afterwards.
   */
  asPath(key: string): Promise<{ path: string; done(): Promise<void> } | null>;
  /** Deletes one object; fine where there is none. */
  remove(key: string): Promise<void>;
  /** Deletes everything below `prefix/`. */
  removeAll(prefix: string): Promise<void>;
  /** A cheap read of nothing. Rejects, saying why, where the store cannot be read. */
  answers(signal?: AbortSignal): Promise<void>;
  /** Free bytes, where the store can tell; null where it cannot. */
  freeBytes(): Promise<number | null>;
}

export interface StoredObject {
  size: number;
  /** Hex. */
  sha256: string;
}

export class TooLarge extends Error {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
    this.name = 'TooLarge';
    this.maxBytes = maxBytes;
  }
}

/** The store has no room left. Nothing of the object that was being put is kept. */
export class StorageFull extends Error {
  constructor(options?: { cause?: unknown }) {
    super('the storage is full', options);
    this.name = 'StorageFull';
  }
}

/** The store cannot be used at the moment. Nothing of the object that was being put is kept. */
export class StorageAway extends Error {
  constructor(options?: { cause?: unknown }) {
    super('the storage is away', options);
    this.name = 'StorageAway';
  }
}
