import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { createHistogram, type FastHistogram } from './histogram.ts';

/** The figures of one process, in Prometheus' form. */
export interface Metrics {
  registry: Registry;
  httpSeconds: FastHistogram<'route' | 'status'>;
  stepSeconds: FastHistogram<'step' | 'result'>;
  fencedWrites: Counter<'to'>;
  batchSize: FastHistogram<'batch'>;
  shed: Counter<'reason'>;
  streams: Gauge;
  inFlight: Gauge;
  /** What changes at every call: counted here, and told when somebody asks. */
  counts: { inFlight: number };
  /** 1 while the newest audit found nothing wrong. */
  booksOk: Gauge;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'farebox_' });
  const registers = [registry];
  const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
  const booksOk = new Gauge({
    name: 'farebox_books_ok',
    help: '1 while the newest audit found nothing wrong, 0 once it did; NaN before the first.',
    registers,
  });
  booksOk.set(NaN);
  const counts = { inFlight: 0 };
  const inFlight = new Gauge({
    name: 'farebox_in_flight_calls',
    help: 'Calls being worked on.',
    registers,
    collect() {
      this.set(counts.inFlight);
    },
  });
  return {
    registry,
    booksOk,
    httpSeconds: createHistogram({
      name: 'farebox_http_request_seconds',
      help: 'Time to answer a call.',
      labelNames: ['route', 'status'],
      buckets,
      registry,
    }),
    stepSeconds: createHistogram({
      name: 'farebox_worker_step_seconds',
      help: 'Time a worker spent on one step.',
      labelNames: ['step', 'result'],
      buckets,
      registry,
    }),
    fencedWrites: new Counter({
      name: 'farebox_fenced_writes_total',
      help: 'Writes of overtaken claims that were dropped.',
      labelNames: ['to'],
      registers,
    }),
    batchSize: createHistogram({
      name: 'farebox_batch_size',
      help: 'Calls that shared one round trip.',
      labelNames: ['batch'],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
      registry,
    }),
    shed: new Counter({
      name: 'farebox_shed_total',
      help: 'Calls refused because of overload.',
      labelNames: ['reason'],
      registers,
    }),
    streams: new Gauge({ name: 'farebox_open_streams', help: 'Open event streams.', registers }),
    inFlight,
    counts,
  };
}
