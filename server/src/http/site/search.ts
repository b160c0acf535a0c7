import MiniSearch from 'minisearch';
import type { Catalog } from '../../core/catalog/catalog.ts';
import { entries } from './entries.ts';
import { manualPage } from './manual.ts';

/** A section of the docs, or a model. */
interface Part {
  href: string;
  /** The title of the page. */
  title: string;
  heading: string;
  text: string;
}

export type Hit = Omit<Part, 'text'> & { excerpt: string };

const hitsMax = 20;
const excerptChars = 200;
const quickStart: Part = {
  href: '/docs',
  title: 'Docs',
  heading: 'Quick start',
  text: 'Create a key, top up, choose a model. Make an image or a video, or chat, with curl, JavaScript, Python or Go.',
};

/** The sections and models with every word of the search, in any of its forms; best first. */
export async function findHits(asked: string, catalog: Catalog, baseUrl: string): Promise<Hit[]> {
  let index = indexes.get(catalog);
  if (!index) {
    index = indexOf(catalog, baseUrl);
    indexes.set(catalog, index);
    // A file that could not be read is read again at the next search.
    index.catch(() => indexes.delete(catalog));
  }
  const hits = (await index).search(asked).slice(0, hitsMax);
  return hits.map(({ id, title, heading, text, terms }) => ({
    href: String(id),
    title: String(title),
    heading: String(heading),
    excerpt: excerptOf(String(text), terms),
  }));
}

const indexes = new WeakMap<Catalog, Promise<MiniSearch<Part>>>();

async function indexOf(catalog: Catalog, baseUrl: string): Promise<MiniSearch<Part>> {
  const index = new MiniSearch<Part>({
    idField: 'href',
    fields: ['heading', 'title', 'text'],
    storeFields: ['title', 'heading', 'text'],
    processTerm: stem,
    searchOptions: { boost: { heading: 4, title: 2 }, combineWith: 'AND', prefix: true },
  });
  index.add(quickStart);
  for (const { name, title } of entries) {
    const page = await manualPage(name, baseUrl);
    const sections = new Map(page?.sections.map((each) => [`/docs/${name}#${each.anchor}`, each]));
    for (const [href, { heading, text }] of sections) index.add({ href, title, heading, text });
  }
  for (const { id, name, task, description } of catalog.models.values())
    index.add({
      href: `/models/${id}`,
      title: 'Models',
      heading: name,
      text: `${id}: ${task}. ${description}`,
    });
  return index;
}

/** Drops the endings of plurals and verbs: "webhooks" finds "webhook", "streaming" "stream". */
function stem(word: string): string {
  const lower = word.toLowerCase();
  return lower.length > 4 ? lower.replace(/(?:ing|ed|es|s|e)$/, '') : lower;
}

/** `terms`: stems that were found. */
function excerptOf(text: string, terms: string[]): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place !== -1);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const start = Math.max(0, first - excerptChars / 2);
  const part = text.slice(start, start + excerptChars).trim();
  return `${start > 0 ? '…' : ''}${part}${start + excerptChars < text.length ? '…' : ''}`;
}
