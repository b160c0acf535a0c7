import type { FastifyReply } from 'fastify';
import { ApiError } from '../../../core/errors.ts';
import type { Json } from '../../../lib/json.ts';
import {
  noAnswer,
  type Break,
  type BegunReply,
  type Reader,
} from '../../../operations/requests/run-chat.ts';
import type { StopDeps } from '../../deps.ts';
import { asApiError } from '../../errors.ts';
import type { ShownCall } from './door.ts';
import { sendAll, type Sender } from './sender.ts';

/** Whole replies and streams, from the events of a model. */

/** A whole reply. One that broke off after its first words is paid, and so is shown. */
export function gatherWhole({ reply }: ShownCall, sender: Sender, deps: StopDeps): Reader<string> {
  const writer = sender.writer();
  return {
    take(event) {
      writer.add(event);
      return true;
    },
    end({ failed, refusal, broken, usage, charge }) {
      if (failed) throw refusal ?? noAnswer(broken?.error ?? 'no output', deps);
      return answer(reply, writer.whole(usage), String(charge));
    },
    fail(error) {
      throw error;
    },
  };
}

/** `charged`: what this very call costs, in micro-USD; a repeat costs nothing. */
export function answer(reply: FastifyReply, body: Json, charged: string): string {
  reply.header('x-charge-usd-micro', charged);
  reply.type('application/json; charset=utf-8');
  return JSON.stringify(body);
}

export async function openStreaming(
  { reply }: ShownCall,
  sender: Sender,
  { reportedUsage, signal }: BegunReply,
  { cutoff }: StopDeps,
): Promise<Reader<FastifyReply>> {
  const writer = sender.writer();
  const events = await sender.open(reportedUsage, signal);
  return {
    // When the time is up, a slow reader must not delay the settlement.
    take: async (event) => (await sendAll(events, writer.add(event), signal)) && !signal.aborted,
    async end({ broken, refusal, failed, released, usage }) {
      // A caller who has left gets no error; leaving usually caused it.
      if (reply.raw.destroyed) return reply;
      const charged = failed || released ? null : usage;
      if (broken) await sender.breaks(broken.error, refusal ?? brokeOff(broken.why), charged);
      else if (!released) await sendAll(events, writer.end(usage), cutoff);
      // A released call is not paid for, so pieces that the reader has not taken yet are dropped.
      if (released) reply.raw.destroy();
      else events.end();
      return reply;
    },
    async fail(error) {
      if (!reply.raw.destroyed) await sender.breaks(error, asApiError(error), null);
      events.end();
      return reply;
    },
  };
}

const breaks: Readonly<Record<Break, string>> = {
  time_was_up: 'The time limit of the model was reached',
  server_stopped: 'This server stopped',
  model_broke_off: 'The model ended the reply early',
};

/** The charge depends on the reported usage, so the message refers to the request. */
function brokeOff(reason: Break): ApiError {
  return new ApiError('submit_failed', {
    message: `${breaks[reason]} in the middle of the reply. The request shows what was charged. For a new reply, call again; if this call had an Idempotency-Key, use a new one.`,
    details: { reason },
  });
}
