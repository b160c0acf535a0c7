import pg from 'pg';
import { faultOfParameters, type Parameters } from '../outbound/parameters.ts';
import { messageOf } from '../unknown.ts';

/** The driver ignores any other parameter, or takes it for an option of its own, such as `max`. */
const parameters: Parameters = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslrootcert: null,
  sslcert: null,
  sslkey: null,
  sslnegotiation: ['postgres', 'direct'],
  ssl: ['true', '1', '0', 'no-verify'],
  uselibpqcompat: ['true'],
  channel_binding: ['disable', 'prefer', 'require'],
  options: null,
  host: null,
  port: null,
  user: null,
  password: null,
};

export const databaseParameters = Object.keys(parameters);

const form =
  'must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters in PASSWORD percent-encoded.';

/**
 * Says why a database URL can never be used; null if it can. The sentence does not repeat values,
 * which may be secrets.
 */
export function faultOfDatabaseUrl(given: string): string | null {
  // The URL of a Unix socket has no host; the socket's folder is in the query.
  const url = URL.parse(given) ?? URL.parse(given.replace('@/', '@socket/'));
  const known = url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.hash === '';
  if (!known || !/^postgres(ql)?:\/\/./.test(given) || !isDecodable(url)) return form;
  // A password with a ? that is not encoded ends here.
  if (url.search.includes('@')) return form;
  if (url.hostname.includes(',')) return 'must name one host.';
  const fault = faultOfParameters(url.searchParams, parameters);
  return fault === null ? faultOfDriver(given) : `${fault}.`;
}

/** The driver reads certificates when it reads the URL. */
function faultOfDriver(given: string): string | null {
  try {
    return new pg.Client(given).host === '' ? form : null;
  } catch (error) {
    return messageOf(error);
  }
}

/** True if the login has to be bound to the TLS connection, if the server can do that. */
export function bindsChannel(url: string): boolean {
  const asked = URL.parse(url)?.searchParams.get('channel_binding');
  return asked === 'prefer' || asked === 'require';
}

function isDecodable({ username, password, hostname, pathname }: URL): boolean {
  try {
    [username, password, hostname, pathname].forEach((part) => decodeURIComponent(part));
    return true;
  } catch {
    return false;
  }
}
