import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';

/** Passwords as Argon2id in the PHC string form: `$argon2id$v=19$m=…,t=…,p=…$salt$tag`. */

/** OWASP's parameters: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const form =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]{16,}={0,2})\$([\w+/]{16,}={0,2})$/;

const deriveNow = promisify(
  (parameters: Argon2Parameters, done: (error: Error | null, tag: Buffer) => void) =>
    argon2('argon2id', parameters, done),
);

/**
 * Hashes at once. Each keeps one of Node's four threads busy, which also read files and resolve
 * names.
 */
const atOnce = 2;
let running = 0;
const waiting: (() => void)[] = [];

async function derive(parameters: Argon2Parameters): Promise<Buffer> {
  // The hash before hands its place on.
  if (running < atOnce) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await deriveNow(parameters);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive({ message: normal(password), nonce, ...cost });
  const { memory, passes, parallelism } = cost;
  const figures = `m=${memory},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${figures}$${nonce.toString('base64')}$${tag.toString('base64')}`;
}

/** Whether the password fits; false also if `stored` does not have the form of `hashPassword`. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = form.exec(stored) ?? [];
  if (tag === undefined) return false;
  const wanted = Buffer.from(tag, 'base64');
  const found = await derive({
    message: normal(password),
    nonce: Buffer.from(salt!, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: wanted.length,
  });
  return timingSafeEqual(found, wanted);
}

/** The same letters typed on two keyboards may have different bytes. */
function normal(password: string): string {
  return password.normalize('NFKC');
}
