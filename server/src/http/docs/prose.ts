import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lexer, type Token, type Tokens } from 'marked';
import type { Examples } from './route-docs.ts';

/**
 * The prose of the API, from docs/api/. A heading such as `POST /files` begins the section of this
 * call. The section begins with the summary in bold. A block of JSON whose first line also names a
 * place is an example: a status, `request` or `event`. The body of a `curl` is an example, too.
 */
export interface Prose {
  /** Name of the page in docs/api/, without its ending. */
  page: string;
  summary: string;
  /** Markdown without links to other pages. */
  description: string;
  /** By place: a status, `request` or `event`. */
  examples: Record<string, Examples>;
}

/** By method and path, such as `GET /requests/{request_id}`. */
export type ProseByCall = Map<string, Prose>;

export interface ApiProse {
  /** The part of docs/api.md before its list of pages, and the conventions. */
  overview: string;
  /** By name of a page: its first paragraph. */
  intros: Map<string, string>;
  calls: ProseByCall;
}

const docs = join(import.meta.dirname, '../../../../docs');
const callHeading = /^[A-Z]+ \S+$/;

export function readProse(): ApiProse {
  const read = (path: string) => readFileSync(join(docs, path), 'utf8');
  const files = readdirSync(join(docs, 'api')).sort();
  const pages = files.map((file) => [file.replace(/\.md$/, ''), read(`api/${file}`)] as const);
  return proseOf(read('api.md'), new Map(pages));
}

/** `pages`: by name, the Markdown of docs/api/. Throws, and names the page, if one is malformed. */
export function proseOf(index: string, pages: Map<string, string>): ApiProse {
  const parsed = [...pages].map(([name, page]) => [name, lexer(page)] as const);
  const calls: ProseByCall = new Map();
  for (const [call, prose] of parsed.flatMap(([name, tokens]) => callsOf(name, tokens))) {
    if (calls.has(call)) throw new Error(`docs/api/ describes ${call} twice`);
    calls.set(call, prose);
  }
  const intros = parsed.map(([name, tokens]) => [name, introOf(tokens)] as const);
  const [overview = ''] = index.split(/^## Pages$/m);
  const conventions = pages.get('conventions')!.replace(/^# /, '## ');
  const general = [...lexer(overview).slice(1), ...lexer(conventions)];
  return { overview: textOf(general), intros: new Map(intros), calls };
}

function introOf(tokens: Token[]): string {
  const [, first] = tokens.filter(({ type }) => type !== 'space');
  return first?.type === 'paragraph' ? withoutLinks((first as Tokens.Paragraph).text) : '';
}

function callsOf(page: string, tokens: Token[]): [call: string, Prose][] {
  return tokens.flatMap((token, i): [string, Prose][] => {
    const call = callOf(token);
    if (call === null) return [];
    const { depth } = token as Tokens.Heading;
    const rest = tokens.slice(i + 1);
    const end = rest.findIndex((each) => each.type === 'heading' && each.depth <= depth);
    return [[call, sectionOf(page, call, end === -1 ? rest : rest.slice(0, end))]];
  });
}

/** The call that a heading names; null: any other token. */
function callOf(token: Token): string | null {
  if (token.type !== 'heading') return null;
  const [only, ...others] = token.tokens ?? [];
  if (only?.type !== 'codespan' || others.length > 0) return null;
  const { text } = only as Tokens.Codespan;
  return callHeading.test(text) ? text : null;
}

function sectionOf(page: string, call: string, section: Token[]): Prose {
  const where = `docs/api/${page}.md: ${call}`;
  const [first, ...others] = section.filter(({ type }) => type !== 'space');
  const [bold] = first?.type === 'paragraph' ? (first.tokens ?? []) : [];
  if (bold?.type !== 'strong') throw new Error(`${where} does not begin with its summary in bold`);
  const rest = { ...first!, raw: first!.raw.slice(bold.raw.length) };
  return {
    page,
    summary: (bold as Tokens.Strong).text.replace(/\.$/, ''),
    description: textOf([rest, ...others]),
    examples: examplesOf(where, section),
  };
}

/** The text without code that is shown elsewhere, and without a sentence that introduces it. */
function textOf(tokens: Token[]): string {
  const solid = tokens.filter(({ type }) => type !== 'space');
  const kept = solid.filter(
    (token, i) =>
      !isShownElsewhere(token) &&
      !(token.raw.trimEnd().endsWith(':') && isShownElsewhere(solid[i + 1])),
  );
  return kept
    .map(({ raw }) => withoutLinks(raw.trim()))
    .filter((text) => text !== '')
    .join('\n\n');
}

/** A program, or an example, which OpenAPI has a place of its own for. */
function isShownElsewhere(token: Token | undefined): boolean {
  return token?.type === 'code' && /^(sh|js|json \S.*)$/.test((token as Tokens.Code).lang ?? '');
}

/** The Markdown with the text of each link in place of the link, except to other sites. */
function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^[\]]+)\]\((?!https?:)[^)\s]+\)/g, '$1');
}

function examplesOf(where: string, section: Token[]): Record<string, Examples> {
  const examples: Record<string, Examples> = {};
  const add = (place: string, name: string | undefined, text: string) => {
    const here = (examples[place] ??= {});
    const count = Object.keys(here).length;
    here[name ?? (count === 0 ? 'example' : `example_${count + 1}`)] = {
      value: jsonOf(where, text),
    };
  };
  for (const token of section) {
    if (token.type !== 'code') continue;
    const { text, lang = '' } = token as Tokens.Code;
    const [language, place, name] = lang.split(' ');
    if (language === 'json' && place !== undefined) add(place, name, text);
    if (language === 'sh')
      for (const [, body] of text.matchAll(/ -d '([^']*)'/g)) add('request', undefined, body!);
  }
  return examples;
}

function jsonOf(where: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${where} has an example that is not JSON: ${text.slice(0, 60)}`);
  }
}
