import { FareboxError, verifyWebhook } from '@farebox/client';
import { pictures } from '../../../lib/pictures.ts';

/** POST: the service tells that a request is final. Anyone can send one, so it has to be proven. */
export async function POST(request: Request): Promise<Response> {
  const secret = process.env.FAREBOX_WEBHOOK_SECRET;
  if (!secret)
    return Response.json({ error: 'FAREBOX_WEBHOOK_SECRET is not set.' }, { status: 500 });
  try {
    // The text as it came: the signature is over these very bytes.
    const body = await request.text();
    // While a secret is being replaced there are two, with a blank between them.
    const told = await verifyWebhook({ body, headers: request.headers, secret: secret.split(' ') });
    const picture = pictures.get(told.request_id);
    // It may come twice; setting the same once more does no harm.
    if (picture) {
      picture.status = told.status;
      picture.charged_usd_micro = String(told.charged_usd_micro ?? 0n);
    }
    return new Response(null, { status: 204 });
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    return Response.json({ error: error.message }, { status: 400 });
  }
}
