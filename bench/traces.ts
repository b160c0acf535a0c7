import { compare, headers, submitRequest, type Contender } from './calls.ts';
import { localUpstream } from './chat.ts';
import { httpRequest } from './load.ts';
import type { Question, Row } from './run.ts';

const body = JSON.stringify({
  model: 'bench/chat',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'What is a lighthouse for?' }],
});

const question: Question = {
  asks: 'what do traces cost, none (the reference), of a tenth of the calls, and of all?',
  async measure(bench, effort) {
    const upstream = await localUpstream();
    const key = await bench.key();
    const paths = {
      submit: submitRequest(key),
      chat: httpRequest('POST', '/v1/chat/completions', headers(key), body),
    };
    // The upstream answers every call, so it takes the spans, too.
    const traced = (ratio: string) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: upstream.url,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: ratio,
    });
    const kinds = { 'no traces': {}, 'a tenth': traced('0.1'), all: traced('1') };
    const rows: Row[] = [];
    try {
      for (const [path, request] of Object.entries(paths)) {
        const contenders = Object.entries(kinds).map(([kind, own]): Contender => {
          const env = { BENCH_UPSTREAM: upstream.url, ...own };
          const start = () => bench.start({ role: 'service', env });
          return { what: `${path}, ${kind}`, start, request: () => request };
        });
        rows.push(...(await compare(bench, contenders, effort, () => bench.reset())));
      }
      return rows;
    } finally {
      await upstream.close();
    }
  },
};
export default question;
