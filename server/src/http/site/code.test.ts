import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeBlock } from './code.ts';

const inside = (code: string, language?: string) =>
  /<code>([^]*)<\/code>/.exec(codeBlock(code, language))![1];

const cases: [language: string, code: string, html: string][] = [
  [
    'sh',
    'export A=1 # ours',
    '<span class="k">export</span> A=<span class="n">1</span> <span class="c"># ours</span>',
  ],
  [
    'sh',
    'curl -d \'{"n": 2}\' $URL',
    'curl -d <span class="s">&#39;{&quot;n&quot;: 2}&#39;</span> <span class="v">$URL</span>',
  ],
  ['sh', 'farebox credit --from x#1 --if-new', 'farebox credit --from x#1 --if-new'],
  [
    'json 200',
    '{"a": "b", "c": null}',
    '{<span class="p">&quot;a&quot;</span>: <span class="s">&quot;b&quot;</span>, <span class="p">&quot;c&quot;</span>: <span class="k">null</span>}',
  ],
  [
    'JavaScript',
    "const a = `<b>`; // it's",
    '<span class="k">const</span> a = <span class="s">`&lt;b&gt;`</span>; <span class="c">// it&#39;s</span>',
  ],
  ['yaml', '- id: x/y', '<span class="p">- id</span>: x/y'],
  [
    'Python',
    'return "https://x" if True else 1.5',
    '<span class="k">return</span> <span class="s">&quot;https://x&quot;</span> <span class="k">if</span> <span class="k">True</span> <span class="k">else</span> <span class="n">1.5</span>',
  ],
];

for (const [language, code, html] of cases)
  test(`${language}: ${code} gets its colours`, () => assert.equal(inside(code, language), html));

test('what a program prints stays plain, and all text is escaped', () => {
  assert.equal(inside('$ export "a" <b>', 'console'), '$ export &quot;a&quot; &lt;b&gt;');
  assert.equal(inside('export "a"'), 'export &quot;a&quot;');
});
