import type { Server } from 'node:net';

/** A TCP address. */
export interface Address {
  host: string;
  port: number;
}

/** Where a server listens. Throws if its socket, which it may have been given, is not of TCP. */
export function addressOf(server: Server): Address {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The socket is not of TCP.');
  return { host: address.address, port: address.port };
}
