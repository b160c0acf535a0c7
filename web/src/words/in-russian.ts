import { sentences } from './service-ru.ts';

interface Known {
  pattern: RegExp;
  russian: string;
}

let known: Known[] | undefined;

/** What the service said in English; as it is where nothing here fits, such as a model's own words. */
export function inRussian(said: string): string {
  return find(said) ?? aboutField(said) ?? said;
}

/** `{field} {what is wrong with it}.` */
function aboutField(said: string): string | null {
  const [, field, wrong = ''] = /^(\S+) (.+)\.$/s.exec(said) ?? [];
  const found = find(wrong);
  return found && `${field}: ${found}.`;
}

function find(said: string): string | null {
  known ??= sentences.map(([english, russian]) => ({ pattern: patternOf(english), russian }));
  for (const { pattern, russian } of known) {
    const holes = pattern.exec(said)?.slice(1);
    if (holes)
      return russian.replaceAll(/\{(\d)\}/g, (_, n) => find(holes[n - 1]!) ?? holes[n - 1]!);
  }
  return null;
}

function patternOf(english: string): RegExp {
  const parts = english.split('{}').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('(.*?)')}$`, 's');
}
