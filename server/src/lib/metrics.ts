import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  Registry,
  collectDefaultMetrics,
} from 'prom-client';
import { withTimeout } from './with-timeout.ts';

/** The metrics of one process, in the Prometheus format. */
export interface Metrics {
  registry: Registry;
  httpSeconds: Histogram<'route' | 'status'>;
  stepSeconds: Histogram<'step' | 'result'>;
  fencedWrites: Counter<'to'>;
  batchSize: Histogram<'batch'>;
  overload: Counter<'reason'>;
  requestsEnded: Counter<'status' | 'code' | 'upstream'>;
  requestSeconds: Histogram<'upstream' | 'kind'>;
  firstTokenSeconds: Histogram<'upstream'>;
  tokens: Counter<'upstream' | 'direction'>;
  charges: Counter<'upstream'>;
  costs: Counter<'upstream'>;
  webhooks: Counter<'result'>;
  upstreamFailures: Counter<'upstream' | 'why'>;
  pollsRefused: Counter<'upstream' | 'why'>;
  losses: Counter<'upstream'>;
  chainReadsFailed: Counter<'chain'>;
  chainDeposits: Counter<'chain'>;
  streams: Gauge;
  inFlight: Gauge;
  /** Changes with every call, so it is counted here and read only when metrics are scraped. */
  counts: { inFlight: number };
  /** 1 if the newest audit found no violation. */
  booksOk: Gauge;
  /** When the newest audit ended, whatever its result. */
  booksChecked: Gauge;
  /** Since when all history was proved. */
  booksWhole: Gauge;
  /** How long the newest audit took. */
  booksSeconds: Gauge;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'farebox_' });
  const registers = [registry];
  const buckets = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
  ];
  const counts = { inFlight: 0 };
  const inFlight = new Gauge({
    name: 'farebox_in_flight_calls',
    help: 'Calls in progress, also those that go on after their caller has left.',
    registers,
    collect() {
      this.set(counts.inFlight);
    },
  });
  return {
    registry,
    ...bookGauges(registers),
    httpSeconds: new Histogram({
      name: 'farebox_http_request_seconds',
      help: 'Time to answer a call.',
      labelNames: ['route', 'status'],
      buckets,
      registers,
    }),
    stepSeconds: new Histogram({
      name: 'farebox_worker_step_seconds',
      help: 'Time a worker spent on one step.',
      labelNames: ['step', 'result'],
      buckets,
      registers,
    }),
    fencedWrites: new Counter({
      name: 'farebox_fenced_writes_total',
      help: 'Writes that were dropped because another worker had taken over the request.',
      labelNames: ['to'],
      registers,
    }),
    batchSize: new Histogram({
      name: 'farebox_batch_size',
      help: 'Calls that shared one round trip to the database.',
      labelNames: ['batch'],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
      registers,
    }),
    overload: new Counter({
      name: 'farebox_overload_total',
      help: 'Calls refused because of overload.',
      labelNames: ['reason'],
      registers,
    }),
    ...createOutcomes(registers),
    streams: new Gauge({ name: 'farebox_open_streams', help: 'Open event streams.', registers }),
    inFlight,
    counts,
  };
}

/** Counts the outcomes of jobs, starts and notifications. */
function createOutcomes(registers: Registry[]) {
  return {
    requestsEnded: new Counter({
      name: 'farebox_requests_ended_total',
      help: 'Requests that this process ended.',
      labelNames: ['status', 'code', 'upstream'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'farebox_request_seconds',
      help: 'Time from the call to the end of completed requests, the wait in the queue included.',
      labelNames: ['upstream', 'kind'],
      buckets: [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
      registers,
    }),
    firstTokenSeconds: new Histogram({
      name: 'farebox_first_token_seconds',
      help: 'Time from the call to the first piece of a streamed chat.',
      labelNames: ['upstream'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    tokens: new Counter({
      name: 'farebox_tokens_total',
      help: 'Tokens that chats were charged for.',
      labelNames: ['upstream', 'direction'],
      registers,
    }),
    charges: new Counter({
      name: 'farebox_charges_usd_total',
      help: 'Charges of the requests that this process ended, in US dollars.',
      labelNames: ['upstream'],
      registers,
    }),
    costs: new Counter({
      name: 'farebox_costs_usd_total',
      help: 'Costs of the requests that this process ended, as far as they are known, in US dollars.',
      labelNames: ['upstream'],
      registers,
    }),
    webhooks: new Counter({
      name: 'farebox_webhooks_total',
      help: 'Notifications that were sent.',
      labelNames: ['result'],
      registers,
    }),
    upstreamFailures: new Counter({
      name: 'farebox_upstream_failures_total',
      help: 'Starts that an upstream did not accept or did not answer, and streams that it broke off.',
      labelNames: ['upstream', 'why'],
      registers,
    }),
    losses: new Counter({
      name: 'farebox_losses_usd_total',
      help: 'The amount by which completed requests cost more than their charges, in US dollars.',
      labelNames: ['upstream'],
      registers,
    }),
    chainReadsFailed: new Counter({
      name: 'farebox_chain_reads_failed_total',
      help: 'Reads of a blockchain that failed in this process.',
      labelNames: ['chain'],
      registers,
    }),
    chainDeposits: new Counter({
      name: 'farebox_chain_deposits_usd_total',
      help: 'The on-chain deposits that this process credited when it read them, in US dollars.',
      labelNames: ['chain'],
      registers,
    }),
    pollsRefused: new Counter({
      name: 'farebox_upstream_polls_refused_total',
      help: 'Polls of running jobs that an upstream refused.',
      labelNames: ['upstream', 'why'],
      registers,
    }),
  };
}

/** The metrics of a process, as the library gives them to other processes. */
export type Figures = object[];

/**
 * The metrics of several processes as one text. No two processes have a series with the same
 * labels.
 */
export function mergeFigures(all: readonly Figures[]): Promise<string> {
  // By itself the library averages some metrics, and leaves out others.
  const added = all.map((figures) => figures.map((metric) => ({ ...metric, aggregator: 'sum' })));
  return AggregatorRegistry.aggregate(added).metrics();
}

/** A gauge of this process that is read at each scrape. */
export function addOwn(
  registry: Registry,
  { name, help, read }: { name: string; help: string; read: () => number },
): void {
  const gauge = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
  registry.registerMetric(gauge);
}

/** As `addOwn`, with a value for each value of a label; a counter if its name says so. */
export function addOwnBy(
  registry: Registry,
  {
    name,
    help,
    label,
    read,
  }: { name: string; help: string; label: string; read: () => Record<string, number> },
): void {
  const Kind = name.endsWith('_total') ? Counter : Gauge;
  const metric = new Kind({
    name,
    help,
    labelNames: [label],
    registers: [],
    collect() {
      this.reset();
      for (const [of, value] of Object.entries(read())) this.inc({ [label]: of }, value);
    },
  });
  registry.registerMetric(metric);
}

/** Shared gauges are read at most this often, and a scrape waits for them at most this long. */
const sharedFreshMs = 3_000;
const sharedWaitMs = 2_000;

/** Gauges that `read` fills. If it gives no answer in time, they have no value. */
export function addShared(
  registry: Registry,
  gauges: { name: string; help: string; labels?: readonly string[] }[],
  read: () => Promise<Record<string, [labels: readonly string[], value: number][]>>,
): void {
  let newest: { at: number; figures: ReturnType<typeof read> } | undefined;
  const figures = () => {
    const now = performance.now();
    if (newest === undefined || now - newest.at > sharedFreshMs) {
      newest = { at: now, figures: withTimeout(read(), sharedWaitMs).catch(() => ({})) };
    }
    return newest.figures;
  };
  for (const { name, help, labels = [] } of gauges) {
    const gauge = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [],
      async collect() {
        const values = (await figures())[name] ?? [];
        this.reset();
        // Without labels, a reset would set the value to 0, which would be wrong.
        if (labels.length === 0) this.remove();
        if (labels.length === 0 && values[0]) this.set(values[0][1]);
        for (const [of, value] of labels.length === 0 ? [] : values)
          this.set(Object.fromEntries(labels.map((label, i) => [label, of[i]!])), value);
      },
    });
    registry.registerMetric(gauge);
  }
}

function bookGauges(registers: Registry[]) {
  const booksOk = new Gauge({
    name: 'farebox_books_ok',
    help: '1 if the newest audit found nothing wrong, else 0; NaN before the first.',
    registers,
  });
  booksOk.set(NaN);
  const booksChecked = new Gauge({
    name: 'farebox_books_checked_timestamp_seconds',
    help: 'Unix time at which the newest audit ended; 0 before the first.',
    registers,
  });
  const booksWhole = new Gauge({
    name: 'farebox_books_whole_timestamp_seconds',
    help: 'Unix time since which audits have proved all history; 0 before the first round.',
    registers,
  });
  const booksSeconds = new Gauge({
    name: 'farebox_books_audit_seconds',
    help: 'Duration of the newest audit; 0 before the first.',
    registers,
  });
  return { booksOk, booksChecked, booksWhole, booksSeconds };
}
