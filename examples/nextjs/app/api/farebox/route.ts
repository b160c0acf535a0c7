import { FareboxError, verifyWebhook } from '@farebox/client';
import { pictures } from '../../../lib/pictures.ts';

/**
 * POST: the service reports that a request is final. Anyone can send such a call, so its signature
 * is verified.
 */
export async function POST(request: Request): Promise<Response> {
  const secret = process.env.FAREBOX_WEBHOOK_SECRET;
  if (!secret)
    return Response.json({ error: 'FAREBOX_WEBHOOK_SECRET is not set.' }, { status: 500 });
  try {
    // The raw text, because the signature covers these exact bytes.
    const body = await request.text();
    // While a secret is being replaced there are two, separated by a blank.
    const told = await verifyWebhook({ body, headers: request.headers, secret: secret.split(' ') });
    const picture = pictures.get(told.request_id);
    // It may come twice; setting the same values again does no harm.
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
