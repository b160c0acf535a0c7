/**
 * Storage of media bytes. A key is a path-like name that this service makes from ids only, never
 * from a caller's text. An object appears complete or not at all: no reader sees a part of one, and
 * a crash leaves no part under its key.
 */
export interface Storage {
  /**
   * Streams a body into the store and replaces an older object. Rejects with `TooLarge`, and stores
   * nothing, once the body exceeds `maxBytes`.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options?: { maxBytes?: number; signal?: AbortSignal },
  ): Promise<StoredObject>;
  /**
   * Null if there is no such object. `range` is inclusive at both ends, as in HTTP, and lies inside
   * the object.
   */
  open(
    key: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * The path of a local file with the whole object, for tools that need a file; call `done`
   * afterwards.
   */
  openAsPath(key: string): Promise<{ path: string; done(): Promise<void> } | null>;
  /** Deletes one object; a missing one is fine. */
  remove(key: string): Promise<void>;
  /** Deletes everything below `prefix/`. */
  removeAll(prefix: string): Promise<void>;
  /** The objects below `prefix/`, in pages of at most 1000, in no particular order. */
  list(prefix: string): AsyncIterable<ListedObject[]>;
  /**
   * An address in the store itself, at which anyone can read the object for so long. Null if the
   * store gives none. It is not checked whether there is such an object.
   */
  linkTo(key: string, link: StoreLink): Promise<string | null>;
  /** Tries a cheap read. Rejects with the reason if the store cannot be read. */
  checkReachable(signal?: AbortSignal): Promise<void>;
  /** Free bytes; null if the store cannot tell. */
  freeBytes(): Promise<number | null>;
}

export interface StoreLink {
  seconds: number;
  /** The headers of what is read there. */
  content_type: string;
  disposition: string;
}

export interface StoredObject {
  size: number;
  /** Hex. */
  sha256: string;
}

export interface ListedObject {
  /** Others may have put it there, so it may be no key that this service makes. */
  key: string;
  size: number;
  stored_at: Date;
}

export class TooLarge extends Error {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
    this.name = 'TooLarge';
    this.maxBytes = maxBytes;
  }
}

/** The store is full. Nothing of the object that was being written is kept. */
export class StorageFull extends Error {
  constructor(options?: { cause?: unknown }) {
    super('the storage is full', options);
    this.name = 'StorageFull';
  }
}

/** The store is unavailable at the moment. Nothing of the object that was being written is kept. */
export class StorageAway extends Error {
  constructor(options?: { cause?: unknown }) {
    super('the storage is away', options);
    this.name = 'StorageAway';
  }
}
