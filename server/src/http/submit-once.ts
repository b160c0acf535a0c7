import type { FastifyReply } from 'fastify';
import type { SubmitResult } from '../operations/requests/admit.ts';
import type { MakingCall } from '../operations/requests/submit.ts';
import { makingCall } from './call.ts';
import type { HttpDeps, KeyedRequest } from './deps.ts';

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
    const submitted = await submit({ ...makingCall(req, reply), earlier });
    resolve(submitted);
    return submitted;
  } finally {
    resolve(null);
  }
}
