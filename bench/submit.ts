import { line, measure, model, submitRequest } from './calls.ts';
import type { Question } from './run.ts';

const question: Question = {
  asks: 'what does a durable submit with its reservation cost, beside an empty POST route with the same body and reply?',
  async measure(bench, seconds) {
    const [hot] = (await bench.keys(1)) as [string];
    const many = await bench.keys(100);
    const one = submitRequest(hot);
    const each = many.map((key) => submitRequest(key));
    const toEmpty = submitRequest(hot, `/queue/${model}`);
    const empty = await measure(bench, { role: 'empty' }, seconds, () => toEmpty);
    const hundred = await measure(
      bench,
      { role: 'service' },
      seconds,
      (n) => each[n % each.length]!,
    );
    await bench.reset();
    const single = await measure(bench, { role: 'service' }, seconds, () => one);
    await bench.reset();
    const percall = await measure(
      bench,
      { role: 'service', batchMax: 1 },
      seconds,
      (n) => each[n % each.length]!,
    );
    await bench.reset();
    const hotPercall = await measure(bench, { role: 'service', batchMax: 1 }, seconds, () => one);
    return [
      line('empty POST route (reference)', empty, empty.rate),
      line('submit, 100 accounts', hundred, empty.rate),
      line('submit, one hot account', single, empty.rate),
      line('a transaction per call, 100 accounts', percall, empty.rate),
      line('a transaction per call, one hot account', hotPercall, empty.rate),
    ];
  },
};
export default question;
