import { entries } from './entries.ts';
import { manualPage } from './manual.ts';

interface Hit {
  href: string;
  /** The title of the page. */
  title: string;
  heading: string;
  excerpt: string;
  score: number;
}

const hitsMax = 20;
const excerptChars = 200;

/** The sections with every word of the search, those with the words in their heading first. */
export async function found(asked: string, baseUrl: string): Promise<Hit[]> {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const hits: Hit[] = [];
  for (const { name } of entries) {
    const page = await manualPage(name, baseUrl);
    for (const { heading, anchor, text } of page?.sections ?? []) {
      const [head, body] = [heading.toLowerCase(), text.toLowerCase()];
      if (!words.every((word) => head.includes(word) || body.includes(word))) continue;
      const inHeading = words.filter((word) => head.includes(word)).length;
      const href = `/docs/${name}#${anchor}`;
      const excerpt = excerptOf(text, body.indexOf(words[0]!));
      hits.push({ href, title: page!.title, heading, excerpt, score: inHeading });
    }
  }
  return hits.toSorted((a, b) => b.score - a.score).slice(0, hitsMax);
}

function excerptOf(text: string, at: number): string {
  const from = Math.max(0, at - excerptChars / 2);
  const part = text.slice(from, from + excerptChars).trim();
  return `${from > 0 ? '…' : ''}${part}${from + excerptChars < text.length ? '…' : ''}`;
}
