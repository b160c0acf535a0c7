import { statfs } from 'node:fs/promises';

/** Bytes that are free, to others than root too, on the disk where this folder or file lies. */
export async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
