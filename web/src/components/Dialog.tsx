import type { DrawerProps, ModalProps } from '@mantine/core';
import { lazy, Suspense, useLayoutEffect, useState } from 'react';

/**
 * Dialogs that return focus to the element that opened them. If that element is gone, focus goes to
 * the page content, so that the next Tab does not start at the top of the page. Their code is loaded
 * with the first one that opens.
 */

const LoadedModal = lazy(async () => ({ default: (await import('./windows.ts')).Modal }));
const LoadedDrawer = lazy(async () => ({ default: (await import('./windows.ts')).Drawer }));

export function Modal(props: ModalProps) {
  const isAsked = useFocusBack(props.opened);
  return <Suspense>{isAsked && <LoadedModal {...props} returnFocus={false} />}</Suspense>;
}

export function Drawer(props: DrawerProps) {
  const isAsked = useFocusBack(props.opened);
  return <Suspense>{isAsked && <LoadedDrawer {...props} returnFocus={false} />}</Suspense>;
}

/**
 * The last focused element, and the last one outside all dialogs. This module may load after the
 * first focus, so the initial value is read from the page.
 */
let last = document.querySelector<HTMLElement>(':focus');
let below = last;

document.addEventListener('focusin', ({ target }) => {
  if (!(target instanceof HTMLElement)) return;
  // A menu item disappears with its menu, so the menu's button gets the focus instead.
  const menu = target.closest('[role=menu]');
  last = menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : target;
  if (!last?.closest('[role=dialog]')) below = last;
});

/** Open dialogs, by the order in which they opened. */
const open = new Set<number>();
let openings = 0;

/**
 * Returns focus when a dialog closes. Called directly by dialogs that are composed of parts. True
 * once the dialog has opened.
 */
export function useFocusBack(opened: boolean): boolean {
  const [isAsked, setAsked] = useState(opened);
  if (opened && !isAsked) setAsked(true);
  useLayoutEffect(() => {
    if (!opened) return;
    const opener = last;
    const opening = ++openings;
    open.add(opening);
    return () => {
      open.delete(opening);
      const inside = document.activeElement;
      // After the dialog has closed. Another dialog may have opened and taken focus.
      setTimeout(() => {
        if (opening < Math.max(...open)) return;
        const { activeElement, body } = document;
        if (activeElement !== body && activeElement !== inside) return;
        const there = [opener, below].find((one) => one?.isConnected);
        (there ?? document.getElementById('content'))?.focus({ preventScroll: true });
      });
    };
  }, [opened]);
  return isAsked;
}
