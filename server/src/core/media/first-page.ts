/**
 * Ends a TIFF after its first page, in place. libvips reads the head of every page, of which a file
 * can have hundreds of thousands: 15 MB of them took 14 s. Other files stay as they are.
 */
export function asFirstPage(bytes: Buffer): Buffer {
  const order = bytes.toString('latin1', 0, 2);
  if (order !== 'II' && order !== 'MM') return bytes;
  /** NaN beyond the end of the file. */
  const number = (at: number, size: number): number => {
    const digits = Buffer.from(bytes.subarray(at, at + size));
    if (digits.length < size) return NaN;
    if (order === 'II') digits.reverse();
    return Number(`0x${digits.toString('hex')}`);
  };
  // In a BigTIFF, counts and places have 8 bytes.
  const [place, count, field] = number(2, 2) === 43 ? [8, 8, 20] : [4, 2, 12];
  const page = number(place, place);
  const next = page + count + field * number(page, count);
  if (next + place <= bytes.length) bytes.fill(0, next, next + place);
  return bytes;
}
