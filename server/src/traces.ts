import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { hideInLogs } from './lib/log.ts';
import { throttleLog } from './lib/log-throttle.ts';
import type { Fetch } from './lib/outbound/fetch.ts';
import type { Tracer } from './lib/trace.ts';

const load = () => import('./lib/open-tracer.ts');

function collectorOf(config: Config) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === null) return null;
  return { url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, headers: headers ?? {} };
}

/** Sends no span. False: no collector is configured. Throws if it does not answer as it should. */
export async function tryCollector(config: Config, fetch: Fetch): Promise<boolean> {
  const collector = collectorOf(config);
  if (collector === null) return false;
  const { sendSpans } = await load();
  await sendSpans({ ...collector, fetch }, Buffer.from('{"resourceSpans":[]}'));
  return true;
}

/** Null, and no package loaded, if no collector is configured. */
export async function openTraces(
  config: Config,
  fetch: Fetch,
  log: Logger,
  gatherMs: number,
): Promise<Tracer | null> {
  const collector = collectorOf(config);
  if (collector === null) return null;
  for (const value of Object.values(collector.headers)) value.split(/\s+/).forEach(hideInLogs);
  const { openTracer } = await load();
  return openTracer({
    ...collector,
    resource: {
      'host.name': hostname(),
      'process.pid': String(process.pid),
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      'service.name': config.OTEL_SERVICE_NAME,
    },
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    gatherMs,
    fetch,
    onError: throttleLog((told) => log.warn(told, 'traces could not be sent')),
  });
}
