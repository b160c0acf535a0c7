import { countRunningBeyond } from '../db/requests/open-requests.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { namesOf } from '../upstreams/keys.ts';
import type { StepDeps } from './step.ts';

/**
 * Warns of jobs at an upstream, or with an upstream's key, that is not set up here. Nobody can poll
 * them, so they are given up at their deadline although they may have been paid for.
 */
export function warnOfMissingUpstreams({
  db,
  upstreams,
  log,
}: Pick<StepDeps, 'db' | 'upstreams' | 'log'>): (upstream: string) => Promise<void> {
  const throttle = new LogThrottle();
  return async (upstream) => {
    if (throttle.due(upstream) === null) return;
    const found = await countRunningBeyond(db, namesOf(upstreams));
    const { jobs = 1 } = found.find((each) => each.upstream === upstream) ?? {};
    log.warn({ upstream, jobs }, 'jobs run at an upstream that is not set up here');
  };
}
