import { Farebox } from '@farebox/client';

let known: Farebox | undefined;

/** The client. Its key is read on the server and never sent to the browser. */
export function farebox(): Farebox {
  return (known ??= new Farebox());
}

/** The most that one picture may cost, in millionths of a dollar. */
export const mostUsdMicro = 200_000n;

/** The address of this application for the service; without it there are no notifications. */
export function webhookUrl(): string | undefined {
  const origin = process.env.PUBLIC_ORIGIN;
  return origin && `${origin}/api/farebox`;
}
