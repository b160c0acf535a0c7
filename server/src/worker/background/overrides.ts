import type { Logger } from 'pino';
import type { CatalogStore } from '../../catalog/catalog.ts';
import * as modelOverrides from '../../db/model-overrides.ts';
import * as stoppedModels from '../../db/stopped-models.ts';
import * as controls from '../../db/upstreams/controls.ts';
import { throttleLog } from '../../lib/log-throttle.ts';
import { unsealKeys, resealKeys } from '../../operations/upstreams/stored-keys.ts';
import type { Upstreams } from '../../upstreams/index.ts';
import { repeat } from '../../lib/repeat.ts';
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
export async function watchOverrides({
  db,
  log,
  catalog,
  connected,
  secrets,
}: WatchDeps): Promise<OverridesWatch> {
  let reading: Promise<void> = Promise.resolve();
  const read = async () => {
    const [set, stops, upstreams] = await Promise.all([
      modelOverrides.list(db),
      stoppedModels.list(db),
      controls.list(db),
    ]);
    const isNewKey = connected.storeKeys(unsealKeys(upstreams, secrets));
    catalog.override(modelOverrides.overridesOf(set, stops), isNewKey);
    await resealKeys(db, upstreams, secrets);
  };
  /** Readings run one after the other, so that an older one never replaces a newer one. */
  const reload = () => {
    const next = reading.then(read);
    reading = next.catch(() => {});
    return next;
  };
  const tellFailed = throttleLog((told) =>
    log.warn(told, 'could not read what operators changed about the catalog'),
  );
  const looks = repeat(async () => {
    await reload().catch((err: unknown) => {
      if (!isUnavailable(err)) tellFailed(err);
    });
    return everyMs;
  });
  await looks.first;
  return {
    reload,
    async stop() {
      await looks.stop();
      await reading;
    },
  };
}
