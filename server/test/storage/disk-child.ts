/** A process of the disk store's tests: `hang FOLDER` or `fill FOLDER`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DiskStorage } from '../../src/storage/disk.ts';
import { chunked, readAll } from './conformance.ts';

const [, , verb, root = ''] = process.argv;
const storage = new DiskStorage(root);

if (verb === 'hang') {
  await storage.put('killed/0', hangs());
} else {
  await storage.put('full/0', chunked(Buffer.from('older'), 5));
  const put = storage.put('full/0', chunked(Buffer.alloc(8_000_000), 65_536));
  const error = await put.catch((reason: Error) => reason.constructor.name);
  const left = readdirSync(join(root, '.temp')).length;
  console.log(error, String(await readAll(storage, 'full/0')), left, 'left');
}

async function* hangs(): AsyncIterable<Uint8Array> {
  yield Buffer.alloc(1_000_000);
  // The store asks for more, so the first part is written.
  console.log('half');
  setInterval(() => {}, 1000);
  await new Promise<never>(() => {});
}
