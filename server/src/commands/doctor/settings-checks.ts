import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { pagesDir } from '../../http/session/pages.ts';
import { findingsOf, type Diagnosis } from './finding.ts';

/** Fewer different characters than a random secret of the shortest length ever has. */
const varietyMin = 8;

/** Checks of the settings alone. Settings that cannot be read end the command before. */
export function checkSettings(config: Config): Diagnosis[] {
  return [...ofSecrets(config), ...ofAddress(config), ...ofPages(config), ...ofTests(config)];
}

function ofSecrets(config: Config): Diagnosis[] {
  const secret = findingsOf('secret');
  const { FAREBOX_SECRET: given, FAREBOX_SECRET_PREVIOUS: previous } = config;
  const remedy = 'Set FAREBOX_SECRET to the output of: openssl rand -hex 32';
  if (given === null) {
    const says = 'FAREBOX_SECRET is not set: the generated secret of the data folder signs links.';
    return [config.DATABASE_URL === null ? secret.fine(says) : secret.wrong(says, remedy)];
  }
  if (new Set(given).size < varietyMin)
    return [secret.wrong('FAREBOX_SECRET is easy to guess: few different characters.', remedy)];
  const kept = 'FAREBOX_SECRET_PREVIOUS is set: links of the former secret still work.';
  return previous === null
    ? [secret.fine('FAREBOX_SECRET is set.')]
    : [secret.note(kept, 'Remove it a day after the change of secret.')];
}

/** TLS ends at a proxy, because the service has none. */
function ofAddress(config: Config): Diagnosis[] {
  const address = findingsOf('address');
  const { FAREBOX_BASE_URL: base, FAREBOX_TRUSTED_PROXIES: proxies, HOST: host } = config;
  if (base === null)
    return [
      config.DATABASE_URL === null
        ? address.fine('FAREBOX_BASE_URL is not set: only this machine can follow links.')
        : address.wrong(
            'FAREBOX_BASE_URL is not set: links lead to localhost.',
            'Set it to the public address of the API, such as https://api.example.com/v1.',
          ),
    ];
  const { protocol, hostname } = new URL(base);
  const isLocal = /^(localhost|127\.|\[::1\])/.test(hostname);
  if (protocol === 'http:' && !isLocal)
    return [
      address.wrong(
        `FAREBOX_BASE_URL is ${base}: keys are sent in clear.`,
        'Put a proxy with TLS before the service (examples/proxy), and write https.',
      ),
    ];
  if (protocol === 'https:' && proxies === 0)
    return [
      address.wrong(
        'FAREBOX_BASE_URL is https, so a proxy is before the service, but FAREBOX_TRUSTED_PROXIES is 0: all callers share one network and its limits.',
        'Set FAREBOX_TRUSTED_PROXIES to the number of your own proxies, usually 1.',
      ),
    ];
  if (isLocal && proxies > 0)
    return [
      address.wrong(
        `FAREBOX_TRUSTED_PROXIES is ${proxies}, but ${base} has no proxy: callers can choose the address that they seem to come from.`,
        'Set FAREBOX_TRUSTED_PROXIES=0, or FAREBOX_BASE_URL to the address of the proxy.',
      ),
    ];
  return [address.fine(`${base}, ${proxies} trusted proxies, listens on ${host}.`)];
}

function ofPages({ FAREBOX_WEB: isOn }: Config): Diagnosis[] {
  const pages = findingsOf('pages');
  if (!isOn) return [pages.fine('FAREBOX_WEB is off.')];
  if (existsSync(join(pagesDir, 'index.html'))) return [pages.fine('The web pages are built.')];
  return [pages.wrong('The web pages are not built.', 'Run: npm run build')];
}

function ofTests(config: Config): Diagnosis[] {
  const tests = findingsOf('test settings');
  const on = [
    ...(config.FAREBOX_UNSAFE_DATABASE ? ['FAREBOX_UNSAFE_DATABASE'] : []),
    ...(config.FAREBOX_TEST_PUBLIC_HOSTS.length > 0 ? ['FAREBOX_TEST_PUBLIC_HOSTS'] : []),
  ];
  if (on.length === 0) return [tests.fine('None is set.')];
  return [tests.note(`${on.join(' and ')}: only for tests.`, 'Unset them in production.')];
}
