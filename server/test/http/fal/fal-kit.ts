import { createFalClient, type FalClient } from '@fal-ai/client';
import { fakeCatalog } from '../../kit/service.ts';

/** fal's own client as a user sets it up: with a key and the address of the service. */
export function falClient(
  base: string,
  credentials: string,
  send: typeof fetch = fetch,
): FalClient {
  return createFalClient({
    credentials,
    requestMiddleware: async (request) => ({
      ...request,
      url: request.url.replace('https://', `${base}/fal/`),
    }),
    fetch: send,
  });
}

/** fal's client with an Idempotency-Key for each submit, so that repeats are safe. */
export function carefulFalClient(base: string, credentials: string, send: typeof fetch): FalClient {
  return createFalClient({
    credentials,
    requestMiddleware: async (request) => {
      if (request.method === 'POST' && request.headers)
        request.headers['idempotency-key'] ??= crypto.randomUUID();
      return { ...request, url: request.url.replace('https://', `${base}/fal/`) };
    },
    fetch: send,
  });
}

const [image = ''] = / {2}- id: fake\/image\n[\s\S]*?(?= {2}- id:)/.exec(fakeCatalog)!;

/** The fake's image model, also under longer ids; the last id is in a namespace of fal. */
export const falCatalog = [
  fakeCatalog,
  ...['fake/canvas/text-to-image', 'fake/pro/image/edit', 'comfy/fake/portrait/fast'].map((id) =>
    image.replace('fake/image', id),
  ),
].join('');
