/** A moving AVIF has a still picture too. libvips reads it only under the brand of still ones. */

export function isMovingAvif(head: Buffer): boolean {
  return head.toString('latin1', 4, 12) === 'ftypavis';
}

/** Changes the brand of a moving AVIF in place. */
export function asStillAvif(bytes: Buffer): Buffer {
  if (isMovingAvif(bytes)) bytes.write('avif', 8, 'latin1');
  return bytes;
}
