import { FareboxError } from '@farebox/client';
import { farebox } from '../../../../lib/farebox.ts';
import { pictures } from '../../../../lib/pictures.ts';

interface Context {
  params: Promise<{ id: string }>;
}

/** GET: server-sent events, one for each change of the status; the last has the image's address. */
export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { id } = await params;
  // The key could read every request of the account; visitors may see only those of this
  // application.
  const picture = pictures.get(id);
  if (!picture) return Response.json({ error: 'There is no such picture.' }, { status: 404 });
  const left = new AbortController();
  request.signal.addEventListener('abort', () => left.abort());
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(stream) {
      const send = (event: object) =>
        stream.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
      try {
        for await (const { status, progress } of farebox().watch(id, { signal: left.signal })) {
          picture.status = status;
          if (status === 'COMPLETED') send({ status, url: await urlOf(id) });
          else send({ status, progress });
        }
        stream.close();
      } catch (error) {
        if (!(error instanceof FareboxError)) throw error;
        // The page reconnects by itself.
        if (error.code !== 'aborted') stream.error(error);
      }
    },
    cancel: () => left.abort(),
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

/**
 * The link is signed and valid for 24 hours: store the image itself if you need it for longer.
 */
async function urlOf(id: string): Promise<string> {
  const { images } = await farebox().response<{ images: { url: string }[] }>(id);
  return images[0]!.url;
}
