import type { CheckedFolder } from '../../catalog/check-folder.ts';
import { ConfigError, type Config } from '../../config.ts';
import { createMail } from '../../lib/mail.ts';
import { createFetch } from '../../lib/outbound/fetch.ts';
import { messageOf } from '../../lib/unknown.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { disksOf, openMedia } from '../../services.ts';
import { tryCollector } from '../../traces.ts';
import { checkWritable } from '../../storage/watched.ts';
import type { Storage } from '../../storage/storage.ts';
import { isHealthy } from '../../upstreams/check-upstream.ts';
import { lowBytes, type Disk } from '../../worker/background/disk-space.ts';
import { checkFromFolder, type OpenedUpstreams } from '../offline-check.ts';
import { findingsOf, type Diagnosis } from './finding.ts';

/** Checks outside of the database: storage, disks, mail, upstreams and the catalog files. */

const patienceMs = 10_000;
const upstreamMs = 30_000;

/** `cluster`: the folder of the embedded database; null if there is none. */
export async function checkStorage(config: Config, cluster: string | null): Promise<Diagnosis[]> {
  const make = findingsOf('storage');
  const todo = 'See FAREBOX_STORAGE, and docs/operating/outages.md#storage-away.';
  try {
    const media = openMedia(config);
    const disks = disksOf(config, media, cluster).map(checkDisk);
    const written = withTimeout(write(media), patienceMs).then(
      () => make.fine('A file was written and removed.'),
      (error: unknown) => make.wrong(`The storage takes no file: ${messageOf(error)}`, todo),
    );
    return await Promise.all([written, ...disks]);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [make.wrong(error.message, todo)];
  }
}

async function write(media: Storage): Promise<void> {
  await media.checkReachable();
  await checkWritable(media);
}

async function checkDisk({ holds, isGuarded, free }: Disk): Promise<Diagnosis> {
  const make = findingsOf(`disk of ${holds}`);
  const bytes = await withTimeout(free(), patienceMs).catch(() => null);
  if (bytes === null) return make.unknown('Its free space is not known.');
  const says = `${(bytes / 1e9).toFixed(1)} GB are free.`;
  if (bytes >= lowBytes) return make.fine(says);
  const refuses = isGuarded ? ' New requests are refused.' : '';
  return make.wrong(`Only ${says}${refuses}`, 'Make room, or move the folder.');
}

export async function checkMail(config: Config): Promise<Diagnosis[]> {
  const make = findingsOf('mail');
  const { FAREBOX_SMTP_URL: url, FAREBOX_MAIL_FROM: from } = config;
  if (url === null) return [make.fine('FAREBOX_SMTP_URL is not set: no mail is sent.')];
  try {
    await withTimeout(createMail({ url, from }).checkConnection(), patienceMs);
    return [make.fine('The mail server answers.')];
  } catch (error) {
    return [
      make.wrong(
        `The mail server does not take mail: ${messageOf(error)}`,
        'Correct host, password or TLS of FAREBOX_SMTP_URL.',
      ),
    ];
  }
}

export async function checkCollector(config: Config): Promise<Diagnosis[]> {
  const make = findingsOf('traces');
  const fetch = createFetch({ guard: false });
  try {
    if (!(await tryCollector(config, fetch))) return [];
    return [make.fine('The collector takes them.')];
  } catch (error) {
    const todo = 'Correct OTEL_EXPORTER_OTLP_ENDPOINT or …_HEADERS, or start the collector.';
    return [make.wrong(`The collector does not take them: ${messageOf(error)}`, todo)];
  } finally {
    await fetch.close();
  }
}

/** Asks each upstream that is set up, at no cost. */
export async function checkUpstreams(
  folder: CheckedFolder,
  opened: OpenedUpstreams,
): Promise<Diagnosis[]> {
  const make = findingsOf('upstreams');
  const defined = folder.upstreams.map(({ definition }) => definition.name);
  const ready = [...opened.knownUpstreams, ...defined].filter(
    (name) => opened.usableUpstreams(name) === true,
  );
  const within = AbortSignal.timeout(upstreamMs);
  const reports = await Promise.all(
    ready.map((name) => checkFromFolder(name, folder, opened, within)),
  );
  const ill = reports.filter((report) => !isHealthy(report));
  const wrong = ill.map(({ name, problems, missing }) => {
    const lacks = missing.length === 0 ? [] : [`it lacks ${missing.length} models of the catalog`];
    const todo = `farebox upstream test ${name} says more.`;
    return make.wrong(`${name}: ${[...problems, ...lacks].join('; ')}`, todo);
  });
  const live = folder.rows.length - folder.hidden.length;
  if (live === 0)
    wrong.push(
      make.wrong(
        'No model is live: no upstream that serves one is set up.',
        'farebox upstream list says what each needs.',
      ),
    );
  if (wrong.length > 0) return wrong;
  return [make.fine(`Set up: ${ready.join(', ')}. ${live} models are live.`)];
}
