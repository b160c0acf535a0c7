import {
  Drawer as MantineDrawer,
  Modal as MantineModal,
  type DrawerProps,
  type ModalProps,
} from '@mantine/core';
import { useLayoutEffect } from 'react';

/**
 * Dialogs that return focus to the element that opened them. If that element is gone, focus goes to
 * the page content, so that the next Tab does not start at the top of the page.
 */

export function Modal(props: ModalProps) {
  useFocusBack(props.opened);
  return <MantineModal {...props} returnFocus={false} />;
}

export function Drawer(props: DrawerProps) {
  useFocusBack(props.opened);
  return <MantineDrawer {...props} returnFocus={false} />;
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

/** Returns focus when a dialog closes. Called directly by dialogs that are composed of parts. */
export function useFocusBack(opened: boolean): void {
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
}
