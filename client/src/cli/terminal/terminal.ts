import widthUpTo from 'fast-string-truncated-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import type { WriteStream } from 'node:tty';
import { asWritten } from '../../writable.ts';

/** Output on the terminal: results go to stdout, progress and messages to stderr. */

type Stream = NodeJS.WriteStream & Partial<Pick<WriteStream, 'hasColors' | 'columns'>>;

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
export type Style = keyof typeof styles;

/** Node's own check respects NO_COLOR, FORCE_COLOR and TERM. */
function hasColors(stream: Stream): boolean {
  return stream.isTTY === true && stream.hasColors?.() === true;
}

export function paint(stream: Stream, style: Style, text: string): string {
  return hasColors(stream) ? `\u001B[${styles[style]}m${text}\u001B[0m` : text;
}

/**
 * Removes control characters: text from elsewhere may contain sequences that move the cursor or
 * change the window's title.
 */
export function plain(text: string): string {
  return text.replaceAll(/(?![\t\n])\p{Cc}|[\u202A-\u202E\u2066-\u2069]/gu, '');
}

export function oneLine(text: string): string {
  return plain(text.replaceAll(/\s+/g, ' ')).trim();
}

/** The columns that a text takes. */
export function widthOf(text: string): number {
  return widthUpTo(text).width;
}

/** Cuts a text to this many columns. */
export function cut(text: string, columns: number): string {
  const cutAt = { limit: columns, ellipsis: '…' };
  const { truncated, index } = widthUpTo(text, cutAt);
  return truncated ? `${text.slice(0, index).trimEnd()}…` : text;
}

/** Breaks a text at spaces. */
export function wrap(text: string, columns: number): string[] {
  return wrapAnsi(text, columns).split('\n');
}

export function columnsOf(stream: Stream): number {
  return Math.max(20, stream.columns || 80);
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a line on stderr. */
export function tell(text: string): void {
  process.stderr.write(`${plain(text)}\n`);
}

/** Prints sentences on stderr; on a terminal they wrap between words. */
export function say(style: Style, text: string): void {
  const columns = process.stderr.isTTY ? columnsOf(process.stderr) : Infinity;
  for (const line of plain(text)
    .split('\n')
    .flatMap((each) => wrap(each, columns)))
    process.stderr.write(`${paint(process.stderr, style, line)}\n`);
}

/** Clears a progress line that will be drawn again. */
export function clearLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
}

/** Prints a faint remark on stderr, unless `quiet`. */
export function remark(quiet: boolean, text: string): void {
  if (!quiet) say('dim', text);
}

/** Prints one JSON value on a line. Amounts are strings, as on the wire. */
export function printJson(value: unknown): void {
  print(jsonOf(value));
}

export function jsonOf(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, asWritten, indent);
  // The JSON has the same meaning, but no characters that a terminal would obey.
  return text.replaceAll(
    /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Minimum widths of the last and the first column of a table; on narrower terminals, rows are
 * stacked.
 */
const lastMin = 24;
const firstMin = 12;

/**
 * Prints rows on stdout: as an aligned table on a terminal, stacked if that is too narrow. In a
 * pipe, prints only the values, separated by tabs, for `cut` and `awk`.
 */
export function printTable(headings: string[], rows: string[][]): void {
  const clean = rows.map((row) => row.map(oneLine));
  if (!process.stdout.isTTY) {
    for (const row of clean) print(row.join('\t'));
    return;
  }
  for (const line of layOut(headings, clean, columnsOf(process.stdout))) print(line);
}

export function layOut(headings: string[], rows: string[][], columns: number): string[] {
  const last = headings.length - 1;
  const widths = headings.map((heading, at) =>
    Math.max(widthOf(heading), ...rows.map((row) => widthOf(row[at]!))),
  );
  const middle = widths.slice(1, last).reduce((sum, width) => sum + width + 2, 0);
  const lastWidth = Math.min(widths[last]!, lastMin);
  // A first cell longer than this gets its own line.
  const first = Math.min(widths[0]!, columns - middle - lastWidth - 2);
  const bold = (text: string) => paint(process.stdout, 'bold', text);
  const longer = rows.filter((row) => widthOf(row[0]!) > first).length;
  if (first < Math.min(firstMin, widths[0]!) || longer * 2 > rows.length) {
    return rows.flatMap((row) => [
      ...wrap(row[0]!, columns).map(bold),
      ...wrap(row.slice(1).filter(Boolean).join(' · '), columns - 2).map((line) => `  ${line}`),
    ]);
  }
  const starts = first + 2 + middle;
  const linesOf = (row: string[]) => {
    const rest = row.slice(1, last).map((cell, at) => padded(cell, widths[at + 1]! + 2));
    const [begin = '', ...more] = wrap(row[last]!, columns - starts);
    const own = widthOf(row[0]!) > first;
    const line = (own ? ' '.repeat(first + 2) : padded(row[0]!, first + 2)) + rest.join('') + begin;
    return [...(own ? [row[0]!] : []), line, ...more.map((text) => ' '.repeat(starts) + text)];
  };
  const faint = (text: string) => paint(process.stdout, 'dim', text);
  return [...linesOf(headings).map(faint), ...rows.flatMap(linesOf)].map((line) => line.trimEnd());
}

function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

/** Prints `label  value` lines on stdout; long values wrap within their column. */
export function printFields(fields: [string, string | null | undefined][]): void {
  const shown = fields.flatMap(([label, value]): [string, string][] =>
    value ? [[oneLine(label), oneLine(value)]] : [],
  );
  if (!process.stdout.isTTY) {
    for (const field of shown) print(field.join('\t'));
    return;
  }
  const indent = Math.max(...shown.map(([label]) => widthOf(label))) + 2;
  for (const [label, value] of shown) {
    const [first, ...rest] = wrap(value, columnsOf(process.stdout) - indent);
    print(paint(process.stdout, 'dim', label.padEnd(indent)) + first);
    for (const line of rest) print(' '.repeat(indent) + line);
  }
}

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const redrawMs = 120;

/** One line of stderr that changes in place. Prints nothing if stderr is not a terminal. */
export class LiveLine {
  #text = '';
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly live: boolean;

  constructor(quiet: boolean) {
    this.live = !quiet && process.stderr.isTTY === true;
  }

  show(text: string): void {
    if (!this.live) return;
    this.#text = oneLine(text);
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), redrawMs).unref();
  }

  #draw(): void {
    const sign = paint(process.stderr, 'cyan', spinner[this.#turn++ % spinner.length]!);
    const text = cut(this.#text, columnsOf(process.stderr) - 3);
    process.stderr.write(`\r\u001B[K${sign} ${text}`);
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    process.stderr.write('\r\u001B[K');
  }
}

/** A bar such as `████▌░░░` for a share from 0 to 1. */
export function bar(share: number, columns = 16): string {
  const parts = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * columns * 8);
  const text = '█'.repeat(eighths >> 3) + parts[eighths & 7]!;
  return text.padEnd(columns, '░');
}

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes / 1000;
  let at = 0;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

export function secondsText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Whether the user can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}
