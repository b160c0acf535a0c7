import { Farebox } from '@farebox/client';

let known: Farebox | undefined;

/** The key is read here, on the server, and goes no further. */
export function farebox(): Farebox {
  return (known ??= new Farebox());
}

/** The most that one picture may cost, in millionths of a dollar. */
export const mostUsdMicro = 200_000n;

/** Where the service can reach this application; without it there are no notifications. */
export function webhookUrl(): string | undefined {
  const origin = process.env.PUBLIC_ORIGIN;
  return origin && `${origin}/api/farebox`;
}
