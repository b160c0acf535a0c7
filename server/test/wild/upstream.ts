import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { bodyOf, serveHttp } from '../lib/local-server.ts';
import type { Answer, Case, Json } from './case.ts';

/** A server that answers every call with the bytes of the case that is played. */
export interface WildUpstream {
  url: string;
  /** The body of the last call. */
  asked: Json | null;
  play(scene: Case): void;
  close(): Promise<void>;
}

const encoders = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  raw: deflateRawSync,
  cut: (text: string) => gzipSync(text).subarray(0, -8),
};

export async function openUpstream(): Promise<WildUpstream> {
  let scene: Case | null = null;
  const server = await serveHttp((req, res) => {
    void answer().catch(() => res.destroy());
    async function answer(): Promise<void> {
      const text = await bodyOf(req);
      upstream.asked = JSON.parse(text);
      const { reply, refuses } = scene!;
      const isRefused = refuses?.texts.some((each) => text.includes(each)) ?? false;
      const own = isRefused ? refuses!.reply : reply;
      res.writeHead(own.status ?? 200, headersOf(own));
      for (const piece of piecesOf(own)) {
        res.write(piece);
        await setImmediate();
      }
      if (own.breaks) res.destroy();
      else res.end();
    }
  });
  const upstream: WildUpstream = {
    url: server.url,
    asked: null,
    play: (next) => ((scene = next), (upstream.asked = null)),
    close: server.close,
  };
  return upstream;
}

function headersOf({ headers, json, encoding }: Answer): Record<string, string> {
  const type = json === undefined ? 'text/event-stream' : 'application/json';
  return { 'content-type': type, ...(encoding && { 'content-encoding': encoding }), ...headers };
}

function piecesOf({ bytes, events, json, encoding }: Answer): (string | Buffer)[] {
  const pieces = bytes ?? events?.map(eventOf) ?? [JSON.stringify(json)];
  return encoding ? [encoders[encoding](pieces.join(''))] : pieces;
}

function eventOf(value: unknown): string {
  if (typeof value === 'string') return `data: ${value}\n\n`;
  const { type } = value as Json;
  const name = typeof type === 'string' ? `event: ${type}\n` : '';
  return `${name}data: ${JSON.stringify(value)}\n\n`;
}
