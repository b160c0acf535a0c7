import type { Logger } from 'pino';
import type { CatalogStore } from '../../catalog/catalog.ts';
import * as modelOverrides from '../../db/model-overrides.ts';
import * as stoppedModels from '../../db/stopped-models.ts';
import * as controls from '../../db/upstreams/controls.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { unsealKeys, resealKeys } from '../../operations/upstreams/stored-keys.ts';
import type { Upstreams } from '../../upstreams/index.ts';
import { repeat, type Repetition } from '../../lib/repeat.ts';
import { isUnavailable, type Connection } from '../../lib/sql/sql.ts';

/** Brings what operators change about models and upstreams into this process. */

export interface OverridesWatch {
  /** Resolves when this process has all that was committed before the call. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** An operator's change holds everywhere within 5 s. */
const everyMs = 2_000;

interface WatchDeps {
  db: Connection;
  log: Pick<Logger, 'warn'>;
  catalog: Pick<CatalogStore, 'override'>;
  connected: Pick<Upstreams, 'storeKeys'>;
  /** Signing secrets, newest first. */
  secrets: readonly Buffer[];
}

/** Resolves after the first reading, or its failure. */
export async function watchOverrides(deps: WatchDeps): Promise<OverridesWatch> {
  const watch = new ChangesWatch(deps);
  await watch.begin();
  return watch;
}

class ChangesWatch implements OverridesWatch {
  readonly #deps: WatchDeps;
  readonly #throttle = new LogThrottle();
  #looks: Repetition | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Readings run one after the other, so that an older one never replaces a newer one. */
  reload(): Promise<void> {
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #read(): Promise<void> {
    const { db, catalog, connected, secrets } = this.#deps;
    const [set, stops, upstreams] = await Promise.all([
      modelOverrides.list(db),
      stoppedModels.list(db),
      controls.list(db),
    ]);
    const isNewKey = connected.storeKeys(unsealKeys(upstreams, secrets));
    catalog.override(modelOverrides.overridesOf(set, stops), isNewKey);
    await resealKeys(db, upstreams, secrets);
  }

  begin(): Promise<void> {
    this.#looks = repeat(() => this.#look());
    return this.#looks.first;
  }

  async #look(): Promise<number> {
    try {
      await this.reload();
    } catch (err) {
      if (!isUnavailable(err) && this.#throttle.due('look') !== null)
        this.#deps.log.warn({ err }, 'could not read what operators changed about the catalog');
    }
    return everyMs;
  }

  async stop(): Promise<void> {
    await this.#looks?.stop();
    await this.#reading;
  }
}
