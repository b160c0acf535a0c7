import type { AsyncRouteComponent } from '@tanstack/react-router';
import { use, useEffect, useReducer, type ComponentType } from 'react';
import { InWords } from '../../api.ts';
import { Failure } from '../Failure.tsx';
import { useTranslation } from '../../i18n.ts';

/**
 * A page whose code is loaded on the first visit. If loading fails, only that page shows the error.
 * A browser remembers a failed import for the life of the document, so a retry reloads the
 * document, and only once the service answers again.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): AsyncRouteComponent<object> {
  let Loaded: ComponentType | undefined;
  let loading: Promise<void> | undefined;
  /** Failed loads; the first may be due to a short loss of connection. */
  let failures = 0;
  let isShown = false;
  let isAsked = false;
  const bring = async () => {
    try {
      Loaded = (await load())[name];
    } catch (error) {
      failures++;
      throw error;
    }
  };
  const show = () =>
    (loading ??= bring()
      .catch(async () => {
        if (await mayReload(name, failures > 1, isAsked)) await leave();
        isShown = true;
      })
      .finally(() => (loading = undefined)));

  function LazyPage() {
    const { t } = useTranslation('common');
    const [, draw] = useReducer((n: number) => n + 1, 0);
    // The next visit tries again.
    useEffect(
      () => () => {
        isShown = false;
        isAsked = false;
      },
      [],
    );
    if (Loaded) return <Loaded />;
    if (!isShown) use(show());
    const retry = () => {
      isShown = false;
      isAsked = true;
      draw();
    };
    return <Failure error={new InWords(t('page_missing'))} retry={retry} />;
  }
  // A failed preload shows no error, because nobody waits for it.
  return Object.assign(LazyPage, { preload: () => bring().catch(() => {}) });
}

/** Never resolves: nothing more is shown until the document has reloaded. */
function leave(): Promise<never> {
  location.reload();
  return new Promise(() => {});
}

const storageKey = 'farebox-reloaded';

/**
 * Whether a reload would help: the service answers, and either it serves another version than this
 * document, or the load has failed before. Without a click, at most one reload per page, to prevent
 * a loop.
 */
async function mayReload(name: string, again: boolean, isAsked: boolean): Promise<boolean> {
  const own = document.querySelector('script[type=module][src]')?.getAttribute('src') ?? '';
  const mark = `${own} ${name}`;
  try {
    const reply = await fetch(location.pathname, { cache: 'no-store' });
    if (!reply.ok) return false;
    if (isAsked) return true;
    const isReplaced = !(await reply.text()).includes(own);
    if (!(isReplaced || again) || sessionStorage.getItem(storageKey) === mark) return false;
    sessionStorage.setItem(storageKey, mark);
    return true;
  } catch {
    return false;
  }
}
