import { RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { bodyOf, serveHttp } from '../lib/local-server.ts';

/** Serves a chain as JSON-RPC over HTTP. */
export async function serveRpc(rpc: Rpc): Promise<{ url: string; close(): Promise<void> }> {
  return serveHttp(async (req, res) => {
    const { id, method, params } = JSON.parse(await bodyOf(req));
    const reply = (answer: object) => res.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    try {
      reply({ result: await rpc(method, params) });
    } catch (error) {
      const { code, text } = error instanceof RpcError ? error : { code: -32603, text: `${error}` };
      const isStatus = code !== null && code >= 400;
      if (isStatus) res.writeHead(code).end(text);
      else reply({ error: { code, message: text } });
    }
  });
}
