import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { Marked, type Token } from 'marked';
import { entries, type DocsPage } from './entries.ts';
import { codeBlock } from './code.ts';
import { escape } from './frame.ts';
import { statesDiagram } from './states-diagram.ts';

const docsDir = join(import.meta.dirname, '../../../../docs');

/** Rendered page, its source, and its sections for the search. */
export interface ManualPage extends DocsPage {
  html: string;
  source: string;
  sections: Section[];
}

export interface Section {
  heading: string;
  /** 1 for the page itself. */
  depth: number;
  anchor: string;
  text: string;
}

const rendered = new Map<string, Promise<ManualPage>>();

/** The page of this name, with the addresses of the service at `baseUrl`; null: not served. */
export async function manualPage(name: string, baseUrl: string): Promise<ManualPage | null> {
  const entry = entries.find((each) => each.name === name);
  if (!entry) return null;
  // The files change only with a new version of the service.
  const key = `${name} ${baseUrl}`;
  const page = rendered.get(key) ?? render(entry, baseUrl);
  rendered.set(key, page);
  return page.catch((error: unknown) => {
    rendered.delete(key);
    throw error;
  });
}

async function render(entry: DocsPage, baseUrl: string): Promise<ManualPage> {
  const file = await readFile(join(docsDir, `${entry.name}.md`), 'utf8');
  const whole = file
    .replaceAll('http://localhost:8080', baseUrl.replace(/\/v1$/, ''))
    .replaceAll(/^<!--.*-->\n\n?/gm, '');
  const text = entry.section === undefined ? whole : sectionOf(whole, entry.section, entry.title);
  const sections: Section[] = [];
  const html = markdown(sections).parse(linked(entry, text, baseUrl, ''), { async: false });
  return {
    ...entry,
    html: framedTables(html),
    source: linked(entry, text, baseUrl, '.md'),
    sections,
  };
}

function sectionOf(text: string, heading: string, title: string): string {
  const [, ...parts] = text.split(/^(?=## )/m);
  const part = parts.find((each) => each.startsWith(`## ${heading}\n`)) ?? '';
  return `# ${title}\n\n${part}`;
}

/** Links to served pages get their addresses, absolute links stay, others keep only their text. */
function linked({ name: from }: DocsPage, text: string, baseUrl: string, ending: string): string {
  return text.replaceAll(/(?<!!)\[([^[\]]+)\]\(([^)\s]+)\)/g, (whole, label, target) => {
    if (/^([a-z]+:|#)/.test(target)) return whole;
    if (target === '../openapi.json') return `[${label}](${baseUrl}/openapi.json)`;
    const [, path = '', anchor = ''] = /^([\w./-]+)\.md(#.*)?$/.exec(target) ?? [];
    const name = posix.join(posix.dirname(from), path);
    const entry = entries.find((each) => each.name === name);
    return entry ? `[${label}](/docs/${entry.name}${ending}${anchor})` : label;
  });
}

/** A parser that adds each section to `sections`. HTML in a source is shown as text. */
function markdown(sections: Section[]): Marked {
  const anchors = new Set<string>();
  const anchorsOf = new WeakMap<Token, string>();
  const note = (text: string) => {
    const last = sections.at(-1);
    if (last) last.text += ` ${text}`;
  };
  return new Marked({
    gfm: true,
    walkTokens(token) {
      if (token.type === 'heading') {
        const anchor = anchorOf(token.text, anchors);
        anchorsOf.set(token, anchor);
        const { text: heading, depth } = token;
        sections.push({ heading: plain(heading), depth, anchor, text: '' });
      } else if (['paragraph', 'list_item', 'table', 'code'].includes(token.type)) {
        const text = token.type === 'table' ? token.raw : String((token as { text: unknown }).text);
        note(token.type === 'code' ? oneLine(text) : plain(text));
      }
    },
    renderer: {
      html: ({ text }) => escape(text),
      code({ text, lang = '' }) {
        return lang === 'mermaid' ? statesDiagram() : codeBlock(text, lang);
      },
      heading(token) {
        const { tokens, depth } = token;
        const anchor = anchorsOf.get(token)!;
        const words = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1>${words}</h1>\n`;
        // A heading that contains a link gets no link of its own, because links cannot be nested.
        const inside = words.includes('<a ') ? words : `<a href="#${anchor}">${words}</a>`;
        return `<h${depth} id="${anchor}">${inside}</h${depth}>\n`;
      },
    },
  });
}

/** Text without the marks of Markdown. */
function plain(text: string): string {
  const unmarked = text
    .replaceAll(/\[([^[\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/^\|[-:| ]+\|$/gm, '')
    .replaceAll(/[`*]/g, '')
    .replaceAll('|', ' ');
  return oneLine(unmarked);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The heading's anchor in the repository's viewer, because the links in docs/ use it. */
function anchorOf(heading: string, known: Set<string>): string {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  const name = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
  let unique = name;
  for (let n = 1; known.has(unique); n++) unique = `${name}-${n}`;
  known.add(unique);
  return unique;
}

/** Wide tables scroll, also with the keyboard. */
function framedTables(html: string): string {
  return html
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
}
