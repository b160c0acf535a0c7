import { escape } from './frame.ts';

/** Blocks of code with colours, which need no script in the page. */

const shell = ['sh', 'bash', 'curl', 'fare'];
const coloured = new Set([
  ...shell,
  'js',
  'ts',
  'javascript',
  'json',
  'python',
  'go',
  'yaml',
  'toml',
]);
const words = `and as async await break case catch class const continue def defer do done elif else
  except export false fi finally for from func function if import in let new nil None not null of or
  package range return switch then throw True true try type var while with False`.replace(
  /\s+/g,
  '|',
);

/** Each group is a class of style.css. The languages share it: they differ little in such marks. */
const marks = new RegExp(
  [
    String.raw`(?<c>(?<=^|\s)(?:#|//)[ !].*)`,
    String.raw`(?<p>"[^"\n]*"(?=:)|^ *(?:- )?[\w.-]+(?=:(?: |$)))`,
    String.raw`(?<s>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\x60(?:\\.|[^\x60\\])*\x60)`,
    String.raw`(?<v>\$\w+|\$\{\w+\})`,
    String.raw`(?<k>(?<![\w.-])(?:${words})(?![\w-]))`,
    String.raw`(?<n>(?<![\w.#:-])\d[\d_]*(?:\.\d+)?\b)`,
  ].join('|'),
  'gm',
);

/** `language` as a fence of Markdown or a program's heading names it; others have no colours. */
export function codeBlock(code: string, language = ''): string {
  const [name = ''] = language.toLowerCase().split(' ');
  const shown = coloured.has(name) ? painted(code) : escape(code);
  return `<div class="code"><pre tabindex="0"><code>${shown}</code></pre></div>`;
}

function painted(code: string): string {
  let end = 0;
  let html = '';
  for (const { 0: text, index, groups = {} } of code.matchAll(marks)) {
    const [kind] = Object.entries(groups).find(([, found]) => found !== undefined)!;
    html += `${escape(code.slice(end, index))}<span class="${kind}">${escape(text)}</span>`;
    end = index + text.length;
  }
  return html + escape(code.slice(end));
}
