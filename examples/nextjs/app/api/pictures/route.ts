import { FareboxError } from '@farebox/client';
import { farebox, mostUsdMicro, webhookUrl } from '../../../lib/farebox.ts';
import { pictures } from '../../../lib/pictures.ts';

const model = 'sandbox/canvas/text-to-image';
const promptMax = 1_000;

/** POST {prompt}: submits an image. This spends money, so put your own sign-in before it. */
export async function POST(request: Request): Promise<Response> {
  const { prompt } = (await request.json().catch(() => ({}))) as { prompt?: unknown };
  if (typeof prompt !== 'string' || prompt.trim() === '' || prompt.length > promptMax)
    return Response.json(
      { error: `Give a prompt of 1 to ${promptMax} characters.` },
      { status: 400 },
    );
  // Without a resolution the price of the most expensive one is reserved.
  const input = { prompt, resolution: '1k' };
  try {
    const { price_usd_micro } = await farebox().estimate(model, input);
    if (price_usd_micro > mostUsdMicro)
      return Response.json({ error: 'This image would cost too much.' }, { status: 400 });
    const job = await farebox().submit(model, input, {
      webhookUrl: webhookUrl(),
      // The page sends a new key for each press of its button, so a repeated call is one job.
      idempotencyKey: request.headers.get('idempotency-key') ?? undefined,
    });
    if (!pictures.has(job.requestId)) pictures.set(job.requestId, { prompt, status: 'IN_QUEUE' });
    return Response.json({ id: job.requestId }, { status: 202 });
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    console.error('farebox refused', error.code, error.message);
    // Visitors need not know other messages, for example that your balance is used up.
    const isTheirs = error.code === 'invalid_input';
    const text = isTheirs ? error.message : 'No picture can be made at the moment.';
    return Response.json({ error: text }, { status: isTheirs ? 400 : 503 });
  }
}
