import { Farebox } from '@farebox/client';

let known: Farebox | undefined;

/** The client. Its key is read on the server and never sent to the browser. */
export function farebox(): Farebox {
  return (known ??= new Farebox());
}

/** The most that one image may cost, in millionths of a dollar. */
export const mostUsdMicro = 200_000n;

/** Where the service sends notifications; undefined if this application has no public address. */
export function webhookUrl(): string | undefined {
  const origin = process.env.PUBLIC_ORIGIN;
  return origin && `${origin}/api/farebox`;
}
