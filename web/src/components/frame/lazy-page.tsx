import type { AsyncRouteComponent } from '@tanstack/react-router';
import { use, useEffect, useReducer, type ComponentType } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../Failure.tsx';

/**
 * A page whose code is loaded when somebody goes there. Where it does not come, that page says so
 * and the rest stays as it is. A browser remembers what it could not load, so that only another
 * document can try again: it is asked for once the service answers, and never before.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): AsyncRouteComponent<object> {
  let Loaded: ComponentType | undefined;
  let loading: Promise<void> | undefined;
  /** Times that it was tried in vain: the first may be a moment without a connection. */
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
    // Who comes back later sees it tried again.
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
    return <Failure error={new Error(t('page_missing'))} retry={retry} />;
  }
  // Nobody waits for what is loaded ahead: its failure is not shown.
  return Object.assign(LazyPage, { preload: () => bring().catch(() => {}) });
}

/** Nothing more is shown until the document is another one. */
function leave(): Promise<never> {
  location.reload();
  return new Promise(() => {});
}

const kept = 'farebox-reloaded';

/**
 * Whether another document would help: the service answers, and with other pages than these or
 * after the browser has failed before. Unasked only once for a page, so that it never circles.
 */
async function mayReload(name: string, again: boolean, isAsked: boolean): Promise<boolean> {
  const own = document.querySelector('script[type=module][src]')?.getAttribute('src') ?? '';
  const mark = `${own} ${name}`;
  try {
    const reply = await fetch(location.pathname, { cache: 'no-store' });
    if (!reply.ok) return false;
    if (isAsked) return true;
    const isReplaced = !(await reply.text()).includes(own);
    if (!(isReplaced || again) || sessionStorage.getItem(kept) === mark) return false;
    sessionStorage.setItem(kept, mark);
    return true;
  } catch {
    return false;
  }
}
