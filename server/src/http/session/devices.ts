import type { FastifyReply, FastifyRequest } from 'fastify';
import { signDevice, verifyDevice } from '../../core/request/signature.ts';
import { newId } from '../../lib/id.ts';
import { cookiePrefix } from './auth-library.ts';
import type { WebDeps } from './session-request.ts';

/** Cookies by which a browser is recognised. They give no access. */

type Kind = 'device' | 'sign-up';
type Origin = { web: Pick<WebDeps['web'], 'origin'> };
/** The longest that browsers keep a cookie. */
const deviceSeconds = 400 * 24 * 3600;
const signUpSeconds = 24 * 3600;

/** This browser's id if somebody has used it to sign in with this address before, else null. */
export function knownDevice(
  cookies: string | undefined,
  email: string,
  deps: Origin & Pick<WebDeps, 'secrets'>,
): string | null {
  const given = cookieOf(cookies, 'device', deps);
  return given === undefined ? null : verifyDevice(deps.secrets, given, email);
}

/** Keeps this browser's tries apart from strangers'. */
export function rememberDevice(reply: FastifyReply, email: string, deps: WebDeps): void {
  const value = signDevice(deps.secrets[0]!, newId(), email);
  setCookie(reply, 'device', value, deviceSeconds, deps);
}

interface Login {
  id: string;
  /** The stored hash. */
  password: string | null;
}

/** Whether somebody has signed this person up in this browser, with the password of now. */
export function hasSignedUp(
  { headers }: FastifyRequest,
  { id, password }: Login,
  deps: WebDeps,
): boolean {
  const given = cookieOf(headers.cookie, 'sign-up', deps);
  if (given === undefined || password === null) return false;
  return verifyDevice(deps.secrets, given, ofSignUp(password)) === id;
}

/** Null: the address was taken, which must not show, so the cookie is of nobody. */
export function rememberSignUp(reply: FastifyReply, login: Login | null, deps: WebDeps): void {
  const { id, password } = login ?? { id: newId(), password: newId() };
  const value = signDevice(deps.secrets[0]!, id, ofSignUp(password!));
  setCookie(reply, 'sign-up', value, signUpSeconds, deps);
}

/** Differs from every address. */
function ofSignUp(password: string): string {
  return `sign-up ${password}`;
}

function nameOf(kind: Kind, { web }: Origin): string {
  return `${cookiePrefix(web.origin())}.${kind}`;
}

function cookieOf(cookies: string | undefined, kind: Kind, deps: Origin): string | undefined {
  const name = `${nameOf(kind, deps)}=`;
  const given = (cookies ?? '').split(/; */).find((cookie) => cookie.startsWith(name));
  return given?.slice(name.length);
}

function setCookie(
  reply: FastifyReply,
  kind: Kind,
  value: string,
  seconds: number,
  deps: WebDeps,
): void {
  const name = nameOf(kind, deps);
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  reply.header(
    'set-cookie',
    `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
  );
}
