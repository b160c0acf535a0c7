import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** The operator's own server, which gets events. */

export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export interface Post {
  headers: IncomingHttpHeaders;
  body: string;
  /** The verified body. */
  event: { event_id: string; type: string; account_id: string | null; data: any };
}

export interface Receiver {
  url: string;
  /** Everything that arrived, accepted or not; all signatures were verified. */
  posts: Post[];
  /** Posts that were accepted. */
  accepted: Post[];
  /** Answers a post: a status, or null to leave it without an answer. Default: 204. */
  answer: (post: Post) => number | null | Promise<number | null>;
  /** Cuts the connections of posts that were left without an answer. */
  cut(): void;
  /** Stops the server, or starts it at the same address. */
  away(isAway: boolean): Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const webhook = new Webhook(webhookSecret);
  const hanging = new Set<ServerResponse>();
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    req.on('end', async () => {
      const event = webhook.verify(body, req.headers as never) as Post['event'];
      const post = { headers: req.headers, body, event };
      receiver.posts.push(post);
      const status = await receiver.answer(post);
      if (status === null) return void hanging.add(res);
      if (status < 300) receiver.accepted.push(post);
      res.writeHead(status, { connection: 'close' }).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/farebox`,
    posts: [],
    accepted: [],
    answer: () => 204,
    cut() {
      for (const res of hanging) res.destroy();
      hanging.clear();
    },
    async away(isAway) {
      receiver.cut();
      if (!isAway) await once(server.listen(port, '127.0.0.1'), 'listening');
      else if (server.listening) await new Promise((done) => server.close(done));
    },
  };
  return receiver;
}

/** Settings of a service that sends its events to this receiver. */
export function receiverEnv({ url }: Receiver): Record<string, string> {
  return { FAREBOX_OPERATOR_WEBHOOK_URL: url, FAREBOX_OPERATOR_WEBHOOK_SECRET: webhookSecret };
}
