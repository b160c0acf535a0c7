import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { csvLine } from './csv.ts';

describe('a line of CSV', () => {
  const cases: [what: string, cells: Parameters<typeof csvLine>[0], line: string][] = [
    ['a text', ['wire 17'], '"wire 17"'],
    ['nothing', [null, null], ','],
    ['numbers', [12, 10n, '-0.000001', '25'], '12,10,-0.000001,25'],
    ['quotes, commas and line ends', ['a "b", c\r\nd'], '"a ""b"", c\r\nd"'],
    ['a formula', ['=HYPERLINK("http://x")'], `"'=HYPERLINK(""http://x"")"`],
    ['one that begins with a plus', ['+1+cmd'], `"'+1+cmd"`],
    ['one that begins with a minus', ['-1+cmd'], `"'-1+cmd"`],
    ['one that begins with an at', ['@SUM(A1)'], `"'@SUM(A1)"`],
    ['one after blanks', [' \t=1+1'], `"' \t=1+1"`],
    ['one in full width', ['＝1+1'], `"'＝1+1"`],
    ['a text of other letters', ['оплата №17'], '"оплата №17"'],
  ];
  for (const [what, cells, line] of cases)
    test(`holds ${what}`, () => assert.equal(csvLine(cells), `${line}\r\n`));

  test('gives back every text, and never one that begins as a formula does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (first, second) => {
        const cells = readLine(csvLine([first, second]));
        assert.equal(cells.length, 2);
        for (const [i, text] of [first, second].entries()) {
          const cell = cells[i]!;
          assert.ok(cell === text || cell === `'${text}`);
          if (!/^-?\d+(\.\d+)?$/.test(text)) assert.doesNotMatch(cell, /^\s*[=+\-@]/);
        }
      }),
    );
  });
});

/** Splits a line as RFC 4180 says. */
function readLine(line: string): string[] {
  const cells: string[] = [];
  let rest = line.slice(0, -2);
  for (;;) {
    const [whole, quoted, bare] = /^(?:"((?:[^"]|"")*)"|([^,"]*))(?:,|$)/.exec(rest)!;
    cells.push(quoted === undefined ? bare! : quoted.replaceAll('""', '"'));
    if (whole.length === rest.length && !whole.endsWith(',')) return cells;
    rest = rest.slice(whole.length);
    if (rest === '') return [...cells, ''];
  }
}
