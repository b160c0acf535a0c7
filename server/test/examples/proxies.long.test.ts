import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { besideLibraries, debianPackage, haproxyNeeds } from '../kit/debian.ts';
import { until } from '../kit/until.ts';

/** The proxies of `examples/proxy`, the real programs, before two processes. */

const folder = join(import.meta.dirname, '../../../examples/proxy');

interface Proxy {
  needs?: string[];
  file: string;
  program: string;
  /** Its example, with another address and without TLS. */
  config: (example: string, port: number, home: string) => string;
  args: (file: string, home: string) => string[];
}

const proxies: Record<string, Proxy> = {
  haproxy: {
    needs: haproxyNeeds,
    file: 'haproxy.cfg',
    program: 'usr/sbin/haproxy',
    config: (example, port) => example.replace(/bind :443 .*/, `bind 127.0.0.1:${port}`),
    args: (file) => ['-db', '-f', file],
  },
  nginx: {
    file: 'nginx.conf',
    program: 'usr/sbin/nginx',
    config: (example, port, home) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const plain = example
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replace(/ssl_certificate.*/g, '');
      const paths = temporary.map((name) => `${name}_temp_path ${home}/${name};`).join('\n');
      return `events {}\npid ${home}/pid;\nhttp { access_log off;\n${paths}\n${plain}\n}`;
    },
    args: (file, home) => ['-e', 'stderr', '-p', home, '-c', file, '-g', 'daemon off;'],
  },
  caddy: {
    file: 'Caddyfile',
    program: 'usr/bin/caddy',
    config: (example, port) =>
      `{\nadmin off\n}\n${example.replace('{$DOMAIN:api.example.com}', `http://127.0.0.1:${port}`)}`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
};

/** A process behind the proxy. It stops as Farebox does: /livez says 503 first, later every call. */
async function openProcess(t: TestContext) {
  const state = { leaves: false, stops: false, calls: 0 };
  const server = createServer((req, res) => {
    req.resume();
    const isProbe = req.url === '/livez';
    if (!isProbe) state.calls++;
    res
      .writeHead(state.stops || (isProbe && state.leaves) ? 503 : 200)
      .end(req.headers['x-forwarded-for']);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => close(server));
  return { state, port: portOf(server), end: () => close(server) };
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

for (const [name, proxy] of Object.entries(proxies)) {
  test(`${name} loses no call when one of two processes stops or is gone`, async (t) => {
    const unpacked = await debianPackage(name, proxy.needs);
    if (unpacked === null) return t.skip(`not run: ${name}`);
    const [one, two] = [await openProcess(t), await openProcess(t)];
    const port = await freePort();
    const home = await mkdtemp(join(tmpdir(), `${name}-`));
    const file = join(home, proxy.file);
    const example = (await readFile(join(folder, proxy.file), 'utf8'))
      .replace('127.0.0.1:8080', `127.0.0.1:${one.port}`)
      .replace('127.0.0.1:8081', `127.0.0.1:${two.port}`);
    await writeFile(file, proxy.config(example, port, home));
    const child = spawn(join(unpacked, proxy.program), proxy.args(file, home), {
      env: { ...besideLibraries(unpacked), HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // A SIGKILL would leave the workers of nginx behind.
    t.after(() => child.exitCode ?? (child.kill('SIGTERM') && once(child, 'exit')));
    let said = '';
    child.stderr.on('data', (text) => (said += text));
    const call = async (path = '/v1/balance') =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}' })).status;
    await until('the proxy answers', () =>
      call()
        .catch(() => 0)
        .then((status) => status === 200),
    );

    assert.equal(await call('/metrics'), 404, said);
    const answer = await fetch(`http://127.0.0.1:${port}/v1/balance`);
    assert.match(await answer.text(), /127\.0\.0\.1/, 'the processes learn the caller');

    const both = () => one.state.calls > 0 && two.state.calls > 0;
    await until('both are asked', () => call().then(both));
    one.state.leaves = true;
    // Caddy asks /livez, and does not send a call again that got 503; the others do.
    if (name === 'caddy')
      await until('it is known', async () => {
        const before = one.state.calls;
        return (await repeat(call, 40)) === 40 && one.state.calls === before;
      });
    one.state.stops = true;
    assert.equal(await repeat(call, 40), 40);
    one.end();
    assert.equal(await repeat(call, 40), 40);
    assert.equal(child.exitCode, null, said);
  });
}

/** How many of these calls get 200. */
async function repeat(call: () => Promise<number>, times: number): Promise<number> {
  let good = 0;
  for (let n = 0; n < times; n++) if ((await call()) === 200) good++;
  return good;
}
