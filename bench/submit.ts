import { compare, measure, model, submitRequest } from './calls.ts';
import type { Question } from './run.ts';
import type { ProcessOptions } from './service.ts';

const question: Question = {
  asks: 'what does a durable submit with its reservation cost, beside an empty POST route with the same body and reply?',
  async measure(bench, { seconds, rounds }) {
    const [hot] = (await bench.keys(1)) as [string];
    const each = (await bench.keys(100)).map((key) => submitRequest(key));
    const one = submitRequest(hot);
    const toEmpty = submitRequest(hot, `/queue/${model}`);
    const service = async (options: Partial<ProcessOptions>, request: (n: number) => Buffer) => {
      const measured = await measure(bench, { role: 'service', ...options }, seconds, request);
      await bench.reset();
      return measured;
    };
    const inTurn = (n: number) => each[n % each.length]!;
    return compare(
      [
        {
          what: 'empty POST route (reference)',
          run: () => measure(bench, { role: 'empty' }, seconds, () => toEmpty),
        },
        { what: 'submit, 100 accounts', run: () => service({}, inTurn) },
        { what: 'submit, one hot account', run: () => service({}, () => one) },
        {
          what: 'a transaction per call, 100 accounts',
          run: () => service({ batchMax: 1 }, inTurn),
        },
        {
          what: 'a transaction per call, one hot account',
          run: () => service({ batchMax: 1 }, () => one),
        },
      ],
      rounds,
    );
  },
};
export default question;
