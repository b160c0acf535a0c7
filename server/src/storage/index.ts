import { tmpdir } from 'node:os';
import { judgeOperatorUrl } from '../lib/outbound/address.ts';
import { faultOfParameters, type Parameters } from '../lib/outbound/parameters.ts';
import { DiskStorage } from './disk.ts';
import { S3Storage } from './s3.ts';
import type { Storage } from './storage.ts';

const forms = 'disk:/path or s3://key:secret@host/bucket?region=…';
/** A prefix is empty or looks like `farebox/`. */
const parameters: Parameters = {
  region: /^[a-z0-9-]+$/i,
  prefix: /^([a-z0-9_-][a-z0-9_.-]*\/)*$/,
  downloads: /^direct$/,
};

/**
 * Opens the store at an address: `disk:PATH`, relative to the working folder or absolute;
 * `s3://KEY:SECRET@HOST[:PORT]/BUCKET?region=…&prefix=…`, over https; or `s3+http://…` without TLS.
 * With `downloads=direct` it gives links to its objects. The secret is percent-encoded. If the path
 * has no bucket, the host name begins with it. S3 objects are downloaded to `tempFolder` for tools
 * that need a file. `isKnown`: the folder was used before, so it is not created. Throws `TypeError`
 * for any other address; the message omits the address, which may contain a secret.
 */
export function openStorage(
  address: string,
  options: { tempFolder?: string; isKnown?: boolean } = {},
): Storage {
  if (address.startsWith('disk:')) return openDisk(address.slice('disk:'.length), options.isKnown);
  if (/^s3(\+http)?:\/\//.test(address)) return openS3(address, options.tempFolder ?? tmpdir());
  throw new TypeError(`a storage address is ${forms}`);
}

function openDisk(path: string, isKnown?: boolean): Storage {
  if (path === '') throw new TypeError(`a storage address is ${forms}`);
  return new DiskStorage(path, { isKnown });
}

function openS3(address: string, tempFolder: string): Storage {
  const url = URL.parse(address);
  const accessKeyId = decodePart(url?.username);
  const secretAccessKey = decodePart(url?.password);
  if (!url?.host || !accessKeyId || !secretAccessKey) {
    throw new TypeError(
      `a storage address is ${forms}, with / and + of the secret percent-encoded`,
    );
  }
  const scheme = url.protocol === 's3:' ? 'https' : 'http';
  const verdict = judgeOperatorUrl(address.replace(/^[^:]+/, scheme), { takesUser: true });
  if (!verdict.ok) throw new TypeError(`a storage address ${verdict.reason}`);
  const fault = faultOfParameters(url.searchParams, parameters);
  if (fault !== null) throw new TypeError(`a storage address ${fault}`);
  return new S3Storage({
    endpoint: `${scheme}://${url.host}${url.pathname.replace(/\/+$/, '')}`,
    accessKeyId,
    secretAccessKey,
    region: url.searchParams.get('region') ?? 'us-east-1',
    prefix: url.searchParams.get('prefix') ?? '',
    isDirect: url.searchParams.has('downloads'),
    tempFolder,
  });
}

function decodePart(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? '');
  } catch {
    return '';
  }
}
