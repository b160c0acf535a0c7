import { sentences } from './service-ru.ts';

interface Known {
  pattern: RegExp;
  /** What each placeholder may hold, as written in it. */
  holes: string[];
  russian: string;
}

let known: Known[] | undefined;

/**
 * An English text of the service in Russian; unchanged where no pattern fits, such as a model's own
 * words.
 */
export function inRussian(said: string): string {
  return find(said) ?? aboutField(said) ?? said;
}

/** `{field} {what is wrong with it}.` */
function aboutField(said: string): string | null {
  const [, field, wrong = ''] = /^([^\sA-Z]\S*) (.+)\.$/s.exec(said) ?? [];
  const found = find(wrong);
  return found && `${field}: ${found}.`;
}

function find(said: string): string | null {
  known ??= sentences.map(([english, russian]) => ({ ...patternOf(english), russian }));
  for (const each of known) {
    const parts = each.pattern.exec(said)?.slice(1);
    const found = parts && filled(each, parts);
    if (found) return found;
  }
  return null;
}

/** Null where a part would stay English: half a translation is worse than none. */
function filled({ holes, russian }: Known, parts: string[]): string | null {
  let isWhole = true;
  const text = russian.replaceAll(/\{(\d)\}/g, (_, n) => {
    const part = fill(holes[n - 1]!, parts[n - 1]!);
    isWhole &&= part !== null;
    return part ?? '';
  });
  return isWhole ? text : null;
}

function fill(hole: string, part: string): string | null {
  if (hole === '...') return inRussian(part);
  const found = find(part);
  if (found !== null || part === '') return found ?? '';
  const items = part.split(joint);
  const isPlain = items.every((item, i) => i % 2 === 1 || isValue(item, hole === ''));
  return isPlain ? items.map((item) => joints[item] ?? item).join('') : null;
}

const joints: Record<string, string> = { ' or ': ' или ', ' and ': ' и ', ' with ': ' с ' };
const joint = /(, | or | and | with )/;
const quoted = /^"[^"]*"$/;
const figure = /^\d[\d.,]*( (x \d+|USD|s|px|[KMG]i?B|%))?$/;
/** Not a word: `16:9`, `image_url`, `512x512`, `PNG`. */
const sign = /^(?=\S*[\d_/:<>=@])\S+$|^[A-Z]{2,}$|^(true|false|null)$/;

function isValue(item: string, mayBeWord: boolean): boolean {
  if (mayBeWord && /^\S+$/.test(item)) return true;
  return [quoted, figure, sign].some((form) => form.test(item));
}

function patternOf(english: string): Pick<Known, 'pattern' | 'holes'> {
  const parts = english.split(/\{(=|\.\.\.|)\}/);
  const source = parts.map((part, i) =>
    i % 2 === 1 ? '(.*?)' : part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  );
  const holes = parts.filter((_, i) => i % 2 === 1);
  return { pattern: new RegExp(`^${source.join('')}$`, 's'), holes };
}
