import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { fieldOf } from '../../unknown.ts';

export interface HttpOptions {
  port: number;
  host: string;
  /** A caller that presents this token may spend. */
  token: string;
}

/**
 * Maximum number of open sessions. Beyond it, the session that was idle longest is closed, because
 * programs seldom end their sessions.
 */
const sessionsAtOnce = 32;

/** Streamable HTTP at `/mcp`. */
export async function listen(
  { port, host, token }: HttpOptions,
  open: () => McpServer,
): Promise<{ url: string; close(): Promise<void> }> {
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; mcp: McpServer }>();

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const refused = refusalOf(req, host, token);
    if (refused) return refuse(res, ...refused);
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (typeof id === 'string' && known) {
      sessions.delete(id);
      sessions.set(id, known);
      return known.transport.handleRequest(req, res);
    }
    // The session is unknown: the program has to start a new one.
    if (id !== undefined) return refuse(res, 404, 'There is no such session.');
    const mcp = open();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => {
        sessions.set(made, { transport, mcp });
        const [oldest] = sessions;
        if (!oldest || sessions.size <= sessionsAtOnce) return;
        sessions.delete(oldest[0]);
        oldest[1].mcp.close().catch(() => {});
      },
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await mcp.connect(transport);
    await transport.handleRequest(req, res);
    // Removes what was opened for a call that did not start a session, such as a stray GET.
    if (transport.sessionId === undefined) await mcp.close();
  }

  const server = createServer((req, res) => {
    serve(req, res).catch(() => refuse(res, 500, 'The server failed.'));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: addressOf(server, host),
    async close() {
      for (const { mcp } of sessions.values()) await mcp.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Status and message if a call is refused, otherwise null. */
function refusalOf(req: IncomingMessage, host: string, token: string): [number, string] | null {
  const named = nameOf(`http://${req.headers.host}`);
  // Against DNS rebinding: a page whose own name points here sends that name as Host. An IP address
  // cannot be rebound.
  if (named === null || !(named === 'localhost' || named === host || isAddress(named))) {
    return [403, 'This host name is not served here.'];
  }
  // Agents' programs send no Origin; a browser's page always does.
  const { origin } = req.headers;
  if (origin !== undefined && origin !== `http://${req.headers.host}`) {
    return [403, 'Pages of other origins may not call this server.'];
  }
  if (!isSame(req.headers.authorization ?? '', `Bearer ${token}`)) {
    return [401, 'Send the token that was printed at the start, as Authorization: Bearer TOKEN.'];
  }
  if (new URL(req.url ?? '/', 'http://localhost').pathname !== '/mcp') {
    return [404, 'The address is /mcp.'];
  }
  return null;
}

function nameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null;
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** Compares in constant time, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(a!, b!);
}

function refuse(res: ServerResponse, status: number, message: string): void {
  if (res.headersSent) return void res.end();
  const headers = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }));
}

function addressOf(server: Server, host: string): string {
  const port = String(fieldOf(server.address(), 'port'));
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;
}
