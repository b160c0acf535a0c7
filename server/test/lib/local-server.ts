/** Servers on 127.0.0.1 for the tests of the outbound client. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

export interface LocalServer {
  port: number;
  url: string;
  server: Server;
  /** Number of connections and requests that arrived. */
  connections: number;
  requests: IncomingMessage[];
  close(): Promise<void>;
}

export async function serveHttp(listener: RequestListener): Promise<LocalServer> {
  const server = createServer((req, res) => {
    local.requests.push(req);
    listener(req, res);
  });
  const local: LocalServer = { port: 0, url: '', server, connections: 0, requests: [], close };
  server.on('connection', () => local.connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  local.port = (server.address() as AddressInfo).port;
  local.url = `http://127.0.0.1:${local.port}`;
  async function close(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
  return local;
}

export interface TcpServer {
  port: number;
  url: string;
  connections: number;
  close(): Promise<void>;
}

/** Starts a TCP server without a protocol: `listener` gets the socket. */
export async function serveTcp(listener: (socket: Socket) => void): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    local.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    listener(socket);
  });
  const local: TcpServer = { port: 0, url: '', connections: 0, close };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  local.port = (server.address() as AddressInfo).port;
  local.url = `http://127.0.0.1:${local.port}`;
  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  }
  return local;
}

export async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
