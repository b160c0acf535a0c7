import type { FastifyReply } from 'fastify';
import type { SubmitResult } from '../operations/requests/admit.ts';
import type { CallTrace } from '../operations/requests/submit.ts';
import { traceCall } from './call.ts';
import type { KeyedRequest, RequestDeps } from './deps.ts';

/** Submits a job whose call its client may repeat. `submit` gets the call that makes it. */
export async function submitOnce(
  req: KeyedRequest,
  reply: FastifyReply,
  { lostReplies }: RequestDeps,
  submit: (call: CallTrace) => Promise<SubmitResult>,
): Promise<SubmitResult> {
  const { raw } = reply;
  const { promise: made, resolve } = Promise.withResolvers<SubmitResult | null>();
  const earlier = (print: Buffer) => {
    raw.once('close', () => lostReplies.closed(made, print, raw.writableFinished));
    return lostReplies.find(req.caller, print);
  };
  try {
    const submitted = await submit({ ...traceCall(req, reply), findLostRepeat: earlier });
    resolve(submitted);
    return submitted;
  } finally {
    resolve(null);
  }
}
