import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindsChannel, faultOfDatabaseUrl } from './address.ts';

const at = 'postgres://me:hidden@db.example:5432/books';

test('a database URL that the driver can use has no fault', () => {
  const usable = [
    at,
    'postgresql://me@[fd00::1]:5432/books',
    'postgres://%2Fvar%2Frun%2Fpostgresql/books',
    'postgres://me:hidden@/books?host=/var/run/postgresql&port=5433',
    'postgres://me:p%40ss%3Fword@db.example/books',
    `${at}?sslmode=verify-full&channel_binding=require`,
    `${at}?sslmode=require&uselibpqcompat=true`,
    `${at}?options=-c%20search_path%3Dapp`,
  ];
  for (const url of usable) assert.equal(faultOfDatabaseUrl(url), null, url);
});

test('any other one is told without its password', () => {
  const faults: [url: string, says: RegExp][] = [
    ['mysql://me:hidden@db.example/books', /^must be postgres:/],
    ['postgres:/db.example/books', /^must be postgres:/],
    ['postgres://me:hidden@one.example,two.example/books', /^must name one host\.$/],
    ['postgres://me:hidden@one.example:1,two.example:2/books', /^must be postgres:/],
    ['postgres://me:1?a&hidden=b@db.example/books', /^must be postgres:.*percent-encoded/],
    ['postgres://me:%ff@db.example/books', /^must be postgres:/],
    [`${at}#books`, /^must be postgres:/],
    [`${at}?sslmode=bogus`, /^must have one of disable, .* as sslmode\.$/],
    [`${at}?sslmode=allow`, /^must have one of disable, .* as sslmode\.$/],
    [`${at}?ssl=false`, /^must have one of true, .* as ssl/],
    [`${at}?sslnegotiation=direkt`, /^must have one of postgres, .* as sslnegotiation/],
    [`${at}?sslmode=disable&sslnegotiation=direct`, /sslnegotiation=direct requires SSL/],
    [`${at}?sslmode=verify-ca&uselibpqcompat=true`, /requires specifying a CA/],
    [`${at}?sslrootcert=/no/such`, /\/no\/such/],
    [`${at}?max=1`, /^takes no parameter "max", only sslmode,/],
    [`${at}?statement_timeout=1`, /^takes no parameter "statement_timeout", only/],
    [`${at}?sslmode=disable&sslMode=disable`, /^takes no parameter "sslMode", only/],
    [`${at}?replication=database`, /^takes no parameter "replication", only/],
  ];
  for (const [url, says] of faults) {
    const fault = faultOfDatabaseUrl(url);
    assert.match(fault ?? 'no fault', says, url);
    assert.doesNotMatch(fault!, /hidden/, url);
  }
});

test('a login is bound to its TLS connection if the URL asks for that', () => {
  assert.equal(bindsChannel(`${at}?sslmode=require&channel_binding=require`), true);
  assert.equal(bindsChannel(`${at}?channel_binding=disable`), false);
  assert.equal(bindsChannel(at), false);
});
