/** A simple scan of TypeScript: enough to separate code from text, and to find imports. */
import path from 'node:path';

export interface Literal {
  start: number;
  /** Without quotes; each `${…}` of a template is left as `${}`. */
  text: string;
  /** The identifier directly before a template. */
  tag: string;
}

export interface Comment {
  start: number;
  /** On one line, without slashes and asterisks. */
  text: string;
}

export interface Import {
  start: number;
  specifier: string;
  /** Path in the repository, for relative specifiers. */
  target?: string;
  /** `type` is erased before the code runs; `lazy` is an import() or a URL for a worker. */
  kind: 'value' | 'type' | 'lazy';
}

export interface Source {
  path: string;
  text: string;
  /** The text with comments and the contents of strings blanked; all positions stay the same. */
  code: string;
  literals: Literal[];
  comments: Comment[];
  imports: Import[];
}

const known = new Map<string, Source>();

export function readSource(file: string, text: string): Source {
  const key = `${file}\n${text}`;
  let source = known.get(key);
  if (!source) {
    const { code, literals, comments } = scan(text);
    const imports = importsOf(file, code, literals);
    source = { path: file, text, code, literals, comments, imports };
    known.set(key, source);
  }
  return source;
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

const token =
  /(?<comment>\/\/[^\n]*|\/\*[^]*?\*\/)|(?<string>'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*")|(?<word>[\w$]+)|(?<space>\s+)|[^]/y;
const regexLiteral = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//y;
/** After these a slash is not a division, so it begins a regular expression. */
const beforeRegex =
  /^(?:[(,=:[!&|?{};+\-*%~^<>]|return|typeof|case|in|of|delete|void|throw|await|yield|else|)$/;

export function scan(text: string): Pick<Source, 'code' | 'literals' | 'comments'> {
  const literals: Literal[] = [];
  const comments: Comment[] = [];
  const open: { literal: Literal; braces: number }[] = [];
  let code = '';
  let before = '';
  const match = (pattern: RegExp) => {
    pattern.lastIndex = code.length;
    return pattern.exec(text);
  };
  // Takes the next part of a template: up to its end, or up to a `${`.
  const takeTemplate = (literal: Literal) => {
    const part = match(/(?:\\[^]|\$(?!\{)|[^`\\$])*(`|\$\{|$)/y)![0];
    const isEnd = !part.endsWith('${');
    const inside = part.slice(0, part.length - (isEnd ? 1 : 2));
    literal.text += isEnd ? inside : `${inside}\${}`;
    code += blank(inside) + part.slice(inside.length);
    if (!isEnd) open.push({ literal, braces: 0 });
    before = isEnd ? '`' : '{';
  };
  while (code.length < text.length) {
    const regex =
      text[code.length] === '/' && beforeRegex.test(before) ? match(regexLiteral) : null;
    const found = match(token)!;
    const part = found[0];
    const groups = found.groups!;
    const last = open.at(-1);
    if (groups.comment) {
      const words = part.replaceAll(/^\/[/*]+|\*\/$|^[ \t]*\*/gm, '');
      comments.push({ start: code.length, text: words.replaceAll(/\s+/g, ' ').trim() });
      code += blank(part);
    } else if (regex) {
      code += `/${blank(regex[0].slice(1, -1))}/`;
      before = ')';
    } else if (groups.string) {
      literals.push({ start: code.length, text: part.slice(1, -1), tag: '' });
      code += part[0] + blank(part.slice(1, -1)) + part[0];
      before = part[0]!;
    } else if (part === '`') {
      const tag = /[\w$]*$/.exec(code)![0];
      const literal = { start: code.length, text: '', tag };
      literals.push(literal);
      code += part;
      takeTemplate(literal);
    } else if (part === '}' && last?.braces === 0) {
      open.pop();
      code += part;
      takeTemplate(last.literal);
    } else {
      if (last && part === '{') last.braces++;
      if (last && part === '}') last.braces--;
      code += part;
      if (!groups.space) before = part;
    }
  }
  return { code, literals, comments };
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

const importForms: [Import['kind'] | 'clause', RegExp][] = [
  ['clause', /\b(?:import|export)\b(?<clause>[^;'"`]*?)\bfrom\s*['"]/g],
  ['value', /\bimport\s*['"]/g],
  ['lazy', /\bimport\s*\(\s*['"`]/g],
  ['lazy', /\bnew\s+URL\s*\(\s*['"]/g],
];

function importsOf(file: string, code: string, literals: Literal[]): Import[] {
  const at = new Map(literals.map((literal) => [literal.start, literal.text]));
  return importForms.flatMap(([form, pattern]) =>
    [...code.matchAll(pattern)].flatMap((match) => {
      const specifier = at.get(match.index + match[0].length - 1);
      if (specifier === undefined) return [];
      const isType = /^\s*type\b/.test(match.groups?.clause ?? '');
      const kind = form === 'clause' ? (isType ? 'type' : 'value') : form;
      return [{ start: match.index, specifier, kind, ...targetOf(file, specifier) }];
    }),
  );
}

function targetOf(file: string, specifier: string): { target?: string } {
  if (!/^\.\.?\//.test(specifier)) return {};
  return { target: path.posix.join(path.posix.dirname(file), specifier) };
}
