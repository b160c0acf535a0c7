import { compare, model, submitRequest } from './calls.ts';
import type { Question } from './run.ts';
import type { ProcessOptions } from './service.ts';

const question: Question = {
  asks: 'what does a durable submit with its reservation cost, beside an empty POST route with the same body and reply?',
  async measure(bench, effort) {
    const hot = await bench.key();
    const each = (await bench.keys(100)).map((key) => submitRequest(key));
    const one = submitRequest(hot);
    const toEmpty = submitRequest(hot, `/queue/${model}`);
    const service = (options: Partial<ProcessOptions> = {}) => ({
      start: () => bench.start({ role: 'service', ...options }),
    });
    const inTurn = { request: (n: number) => each[n % each.length]! };
    const ofOne = { request: () => one };
    return compare(
      bench,
      [
        {
          what: 'empty POST route (reference)',
          start: () => bench.start({ role: 'empty' }),
          request: () => toEmpty,
        },
        { what: 'submit, 100 accounts', ...service(), ...inTurn },
        { what: 'submit, one hot account', ...service(), ...ofOne },
        {
          what: 'a transaction per call, 100 accounts',
          ...service({ batchMax: 1 }),
          ...inTurn,
        },
        {
          what: 'a transaction per call, one hot account',
          ...service({ batchMax: 1 }),
          ...ofOne,
        },
      ],
      effort,
      () => bench.reset(),
    );
  },
};
export default question;
