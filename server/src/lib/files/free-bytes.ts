import { statfs } from 'node:fs/promises';

/** Free bytes, available to users other than root, on the disk of this folder or file. */
export async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
