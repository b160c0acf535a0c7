import { argon2Sync } from 'node:crypto';
import { memberRolesOf, type OperatorRole } from '../../src/core/account/operator-role.ts';
import type { Role } from '../../src/core/account/role.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { startService, type Service, type ServiceOptions } from './service.ts';
import { before, withService } from './with-service.ts';

export { before };

/** A simulated browser of a person: keeps cookies and sends the pages' origin. */

export const password = 'correct horse battery';
/** Cheap, which saves 40 ms at each of a thousand sign-ins. A hash contains its own cost. */
const hashed = cheapHash(password);

function cheapHash(message: string): string {
  const nonce = Buffer.alloc(16);
  const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
  const tag = argon2Sync('argon2id', { message, nonce, ...cost });
  return `$argon2id$v=19$m=8,t=1,p=1$${nonce.toString('base64')}$${tag.toString('base64')}`;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
  text: string;
}

export interface Person {
  id: string;
  email: string;
  /** Values by cookie name. */
  cookies: Map<string, string>;
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Calls below this account, such as `/keys`. */
  of(account_id: string): Pick<Person, 'call'>;
  signIn(): Promise<Answer>;
}

/**
 * A service behind a proxy, so that each visitor has a separate address, by which sign-ins are
 * throttled. When it is stopped, its books are audited.
 */
export async function startWebService(options: ServiceOptions = {}): Promise<Service> {
  const env = { FAREBOX_TRUSTED_PROXIES: '1', FAREBOX_SIGN_UP: 'open', ...options.env };
  const service = await startService({ ...options, env });
  const { stop } = service;
  service.stop = () => service.audit().finally(stop);
  return service;
}

/** Like `withService`. */
export const withWebService = (given: Parameters<typeof withService>[0] = {}) =>
  withService(given, startWebService);

let addresses = 0;

/** An address that no other visitor has. */
export function newAddress(): string {
  const n = ++addresses;
  return `10.${(process.pid >> 8) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

/** The origin of a service's pages. */
export function originOf(service: Service): string {
  return new URL(service.app.baseUrl).origin;
}

let people = 0;

/** A signed-in person with these roles by account. */
export async function person(service: Service, roles: Record<string, Role> = {}): Promise<Person> {
  const email = `person${++people}@example.com`;
  const id = await newPerson(service, email);
  for (const [account_id, role] of Object.entries(roles)) {
    await service.db.run(sql`insert into members (account_id, person_id, role)
      values (${account_id}, ${id}, ${role})`);
  }
  const made = visitorOf(service, id, email);
  const answer = await made.signIn();
  if (answer.status !== 200) throw new Error(`${email} could not sign in: ${answer.text}`);
  return made;
}

/** A signed-in operator, in an account of their own; `role`: on the console. */
export async function operatorOf(service: Service, role: OperatorRole = 'owner'): Promise<Person> {
  const email = `operator${++people}@example.com`;
  const { id } = await createAccount(service.db, { email, is_operator: true });
  const made = await person(service);
  const roles = memberRolesOf(role);
  // An account with people has an owner.
  if (role !== 'owner')
    await service.db.run(sql`insert into members (account_id, person_id, role)
      values (${id}, ${await newPerson(service, `owner-of-${email}`)}, 'owner')`);
  await service.db.run(sql`insert into members (account_id, person_id, role, operator_role)
    values (${id}, ${made.id}, ${roles.role}, ${roles.operator_role})`);
  return made;
}

/** A visitor who is not signed in and belongs to no account. */
export function stranger(service: Service): Person {
  return visitorOf(service, '', 'stranger@example.com');
}

async function newPerson({ db }: Service, email: string): Promise<string> {
  const id = newId();
  await db.run(
    rawSql(
      `with p as (insert into people (id, name, email, email_verified) values ($1, $2, $3, true))
       insert into logins (id, person_id, provider_id, provider_account_id, password)
       values ($4, $1, 'credential', $1::text, $5)`,
      [id, 'Somebody', email, newId(), hashed],
    ),
  );
  return id;
}

export function visitorOf(service: Service, id: string, email: string): Person {
  const cookies = new Map<string, string>();
  const origin = originOf(service);
  const address = newAddress();
  const call: Person['call'] = async (method, path, body, headers = {}) => {
    const reply = await fetch(`${origin}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-for': address,
        ...(method !== 'GET' && { origin }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(cookies.size > 0 && { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const line of reply.headers.getSetCookie()) keep(cookies, line);
    const text = await reply.text();
    const isJson = /[/+]json/.test(reply.headers.get('content-type') ?? '');
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };
  return {
    id,
    email,
    cookies,
    call,
    of: (account_id) => ({
      call: (method, path, ...rest) => call(method, `/api/accounts/${account_id}${path}`, ...rest),
    }),
    signIn: () => call('POST', '/api/auth/sign-in/email', { email, password }),
  };
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split('; ');
  const [name = '', ...value] = pair.split('=');
  if (attributes.some((attribute) => /^max-age=0$/i.test(attribute))) cookies.delete(name);
  else cookies.set(name, value.join('='));
}
