import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import Provider, { type ClientMetadata, type Configuration } from 'oidc-provider';

/** An identity provider on this machine that signs in the person a test names, without asking. */
export interface IdentityProvider {
  issuer: string;
  /** The settings of a service that uses it. */
  env: Record<string, string>;
  /** The claims of the person at the browser. */
  claims: Record<string, unknown> & { sub: string };
  /** Follows the redirects through the provider. Returns the last address of our pages. */
  follow(url: string): Promise<URL>;
  close(): Promise<void>;
}

export const client = { id: 'farebox', secret: 'what farebox proves itself with' };

export async function openProvider(
  wantedPort = 0,
  options: Configuration = {},
): Promise<IdentityProvider> {
  let handler: ReturnType<Provider['callback']> | undefined;
  const server: Server = createServer((req, res) => void handler!(req, res));
  await once(server.listen(wantedPort, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const own: IdentityProvider = {
    issuer,
    env: {
      FAREBOX_OIDC_ISSUER: issuer,
      FAREBOX_OIDC_CLIENT_ID: client.id,
      FAREBOX_OIDC_CLIENT_SECRET: client.secret,
    },
    claims: { sub: 'nobody' },
    follow,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ['https://replaced.example/'],
      } as ClientMetadata,
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => own.claims }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['a key of the test'] },
    async loadExistingGrant(ctx) {
      const { oidc } = ctx;
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    ...options,
  });
  // Any address, because each service of a test listens on another port.
  provider.Client.prototype.redirectUriAllowed = () => true;
  provider.use(async (ctx, next) => {
    if (!ctx.path.startsWith('/interaction/')) return next();
    const result = { login: { accountId: own.claims.sub } };
    await provider.interactionFinished(ctx.req, ctx.res, result);
    ctx.respond = false;
  });
  handler = provider.callback();

  async function follow(start: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let url = new URL(start);
    while (url.origin === issuer) {
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const reply = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const line of reply.headers.getSetCookie()) {
        const [name, value] = line.split(';')[0]!.split('=') as [string, string];
        cookies.set(name, value);
      }
      const location = reply.headers.get('location');
      if (location === null) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
      url = new URL(location, url);
    }
    return url;
  }
  return own;
}
