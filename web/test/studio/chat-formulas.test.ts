/** Formulas and code in the replies of a model: pure readings of texts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { languageOf } from '../../src/studio/chat/code-languages.ts';
import { readMarkdown } from '../../src/studio/chat/read-markdown.ts';

/** Types of these modules would bring those of a browser to all tests. */
const load = (name: string) => import(name);
const { createElement } = await load('react');
const { renderToStaticMarkup } = await load('react-dom/server');
const { default: Formula } = await load('../../src/studio/chat/Formula.ts');
const { common, createLowlight } = await load('lowlight');

interface ShownToken {
  type?: string;
  text?: string;
  isDisplay?: boolean;
  tokens?: ShownToken[];
  items?: ShownToken[];
  header?: ShownToken[];
  rows?: ShownToken[][];
}

/** The text, with formulas as «x» in a line and «[x]» on their own, and bold text as <b>. */
function shown(all: ShownToken[]): string {
  return all.map(one).join('');
}

function one({ type, text = '', isDisplay, tokens, items, header, rows = [] }: ShownToken): string {
  if (type === 'formula') return isDisplay ? `«[${text.trim()}]»` : `«${text}»`;
  if (type === 'strong' || type === 'em') return `<b>${shown(tokens!)}</b>`;
  if (type === 'table') return [...header!, ...rows.flat()].map(one).join('|');
  return items ? items.map(one).join('/') : tokens ? shown(tokens) : text;
}

const read = (text: string, isWriting = false) =>
  shown(readMarkdown(text, isWriting) as unknown as ShownToken[]);

describe('formulas in a reply', () => {
  const readings: [string, string][] = [
    ['a $x^2$ b', 'a «x^2» b'],
    ['a \\(x\\) and \\[y\\]', 'a «x» and «[y]»'],
    ['$$a$$.', '«[a]».'],
    ['x\n$$\na\n- b\n$$\nend', 'x«[a\n- b]»end'],
    ['- item\n  $$\n  a\n  $$\n- b $c$', 'item«[a]»/b «c»'],
    ['| a | b |\n|--|--|\n| $x$ | $y\\|z$ |', 'a|b|«x»|«y|z»'],
    ['**bold $a*b$ c** $d*e$', '<b>bold «a*b» c</b> «d*e»'],
    ['*a \\(b*c\\) d*', '<b>a «b*c» d</b>'],
    ['$a_1$ and $b_1$', '«a_1» and «b_1»'],
    ['"$x$-axis" ($n$), $10$, $2x+3$', '"«x»-axis" («n»), «10», «2x+3»'],
    ['I paid $20 for $x$ of it', 'I paid $20 for «x» of it'],
  ];
  for (const [text, expected] of readings)
    test(`are read: ${JSON.stringify(text)}`, () => assert.equal(read(text), expected));

  const plain = [
    'costs $5 and $10',
    '$5 (US$), $5 in cash, US$',
    'US$5 or US$6',
    'from $5-$10, or $7/$8',
    'set $HOME/$PATH',
    '$1,000 vs. $2,000 ($3,000 total)$',
    '$ x $ and $$ $$',
    '$$a\n\nb$$',
  ];
  for (const text of plain)
    test(`are not seen in ${JSON.stringify(text)}`, () => assert.doesNotMatch(read(text), /[«»]/));

  test('are not read within code', () => {
    assert.equal(read('`$x$ \\(y\\)` and `$`'), '$x$ \\(y\\) and $');
    assert.equal(read('```\n$$x$$\n```'), '$$x$$');
    assert.equal(read('\\$5 and \\\\(a\\\\)'), '$5 and \\(a\\)');
  });

  test('that are cut anywhere while they are written show neither marks nor other meaning', () => {
    const text = 'So \\(a*b\\), **c** \\[d_1 * e\\] and\n\n$$\nf\n- g\n$$\n\nend';
    const whole = read(text);
    for (let end = 1; end <= text.length; end++) {
      const part = read(text.slice(0, end), true);
      const at = text.slice(0, end);
      assert.doesNotMatch(part, /\\|\$/, at);
      assert.ok(whole.startsWith(part.replace(/<\/b>$/, '').trimEnd()), `${at}: ${part}`);
    }
    assert.equal(read('`\\(` and $5', true), '`\\(` and $5'.replaceAll('`', ''));
    assert.equal(read('```\n\\[ a', true), '\\[ a');
  });

  test('beyond some hundred in a reply stay as they were written', () => {
    const all = read('$a$\n\n'.repeat(2_000));
    assert.equal(all.match(/«a»/g)?.length, 500);
    assert.ok(all.endsWith('$a$'));
  });
});

describe('100 kB of marks', () => {
  const pieces = ['$', '$a', '$$', '\\(', '\\[', '$$\n', '\\[\n', '> $$\n', '- $$\n', '$$a$$ x\n'];
  for (const piece of pieces)
    // Time that grew with the square of the length would be minutes.
    test(`do not hold up the page: ${JSON.stringify(piece)}`, { timeout: 60_000 }, () => {
      readMarkdown(piece.repeat(100_000 / piece.length), true);
      const paragraph = `${piece.repeat(4_000 / piece.length)}\n\n`;
      readMarkdown(paragraph.repeat(25), true);
    });
});

describe('a formula', () => {
  const drawn = (tex: string, isDisplay = false): string =>
    renderToStaticMarkup(createElement(Formula, { tex, isDisplay, raw: 'as written' }));

  test('becomes MathML', () => {
    assert.equal(drawn('\\frac{1}{2}'), '<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>');
    assert.match(drawn('x_1', true), /^<math display="block".*<msub>/);
    assert.match(drawn('\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}'), /<mtable/);
    assert.match(drawn('\\text{<img src=x>}'), /^<math><mtext>&lt;img\ssrc=x&gt;</);
  });

  const refused: [string, string][] = [
    ['that is wrong', '\\frac{1'],
    ['with an unknown command', '\\nonsense{x}'],
    ['that loads an image', '\\includegraphics{https://a.example/x.png}'],
    ['with a link', '\\href{javascript:alert(1)}{x}'],
    ['with a link by its address', '\\url{https://a.example}'],
    ['with a class', '\\class{x}{y}'],
    ['with a style', '\\style{background:url(https://a.example)}{y}'],
    ['that refers to another one', '\\ref{x}'],
    ['that grows without end', '\\def\\a{\\a\\a}\\a'],
    ['that doubles and doubles', '\\newcommand\\a[1]{#1#1#1#1}\\a{\\a{\\a{\\a{\\a{\\a{x}}}}}}'],
    ['that is too deep', `${'\\frac{'.repeat(60)}x${'}{y}'.repeat(60)}`],
    ['that is too long', 'x'.repeat(2_001)],
    ['with too many cells', `\\begin{matrix}${'&'.repeat(1_900)}\\end{matrix}`.repeat(2)],
  ];
  for (const [name, tex] of refused)
    test(`${name} stays as it was written`, () => assert.equal(drawn(tex), 'as written'));

  test('has no colours, places or addresses of its own', () => {
    for (const tex of ['\\color{white}{x}', '\\colorbox{red}{x}', '\\cancel{x}', '\\boxed{x}']) {
      const math = drawn(tex);
      assert.doesNotMatch(math, /color|url|href|src|position|class/, tex);
    }
  });
});

describe('the languages of code', () => {
  test('are those that can be coloured, by each name', () => {
    const lowlight = createLowlight(common);
    for (const alias of ['c++', 'console', 'golang', 'kt', 'mts', 'svg', 'patch', 'yml', 'zsh'])
      assert.ok(lowlight.registered(alias) && languageOf(alias, '') !== null, alias);
    const plain = Object.keys(common).filter((each) => languageOf(each, '') === null);
    assert.deepEqual(plain, ['php-template', 'plaintext', 'python-repl']);
  });

  test('are read from the line after the fence', () => {
    assert.equal(languageOf('TypeScript title="a.ts"', 'x'), 'typescript');
    for (const line of ['', 'brainf', 'constructor', '<script>'])
      assert.equal(languageOf(line, 'x'), null);
    assert.equal(languageOf('js', 'x\n'.repeat(5_001)), null);
    assert.equal(languageOf('js', 'x'.repeat(501)), null);
  });
});
