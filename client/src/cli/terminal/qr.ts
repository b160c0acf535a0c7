/**
 * A QR code with two of its rows in each line of text. It sets its colours itself, because scanners
 * need dark on light.
 */
export async function qrText(text: string): Promise<string> {
  const { encodeQR } = await import('qr');
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: 2 });
  const lines: string[] = [];
  for (let at = 0; at < rows.length; at += 2) {
    const cells = rows[at]!.map(
      (upper, x) => signs[Number(upper)]![Number(rows[at + 1]?.[x] ?? false)],
    );
    lines.push(`\u001B[30;107m${cells.join('')}\u001B[0m`);
  }
  return lines.join('\n');
}

/** The sign for an upper and a lower cell: `signs[upper][lower]`, where 1 is dark. */
const signs = [
  [' ', '▄'],
  ['▀', '█'],
];
