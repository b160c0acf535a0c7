import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '../../core/errors.ts';
import { sendCached } from './cached.ts';
import { openEndpoint } from '../endpoint.ts';

/** `npm start` and the build of the image write this file. */
const packedFile = join(import.meta.dirname, '../../../../client/dist/farebox-client.tgz');

interface ClientPackage {
  bytes: Buffer;
  etag: string;
}

/** Read once, because a new version of it comes only with a new service. */
let packed: Promise<ClientPackage> | undefined;

/** GET /farebox-client.tgz: the packed library, since callers have no sources to pack it from. */
export const client = openEndpoint({}, async ({ req, reply }) => {
  const { bytes, etag } = await (packed ??= read());
  return sendCached(req, reply, { etag, type: 'application/gzip', body: bytes });
});

async function read(): Promise<ClientPackage> {
  try {
    const bytes = await readFile(packedFile);
    return { bytes, etag: `"${hash('sha256', bytes, 'hex').slice(0, 24)}"` };
  } catch (cause) {
    packed = undefined;
    throw new ApiError('not_found', {
      message: 'This service has no client to download. Its operator can build it: npm run build.',
      cause,
    });
  }
}
