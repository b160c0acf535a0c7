import {
  Drawer as MantineDrawer,
  Modal as MantineModal,
  type DrawerProps,
  type ModalProps,
} from '@mantine/core';
import { useLayoutEffect } from 'react';

/**
 * Dialogs, from which focus goes back to what opened them, however they were opened; where that went
 * with what was done, to the content, so that the next Tab does not begin at the page's top.
 */

export function Modal(props: ModalProps) {
  useFocusBack(props.opened);
  return <MantineModal {...props} returnFocus={false} />;
}

export function Drawer(props: DrawerProps) {
  useFocusBack(props.opened);
  return <MantineDrawer {...props} returnFocus={false} />;
}

/** What had focus last, and what had it last below all dialogs. Loaded late, this asks the page. */
let last = document.querySelector<HTMLElement>(':focus');
let below = last;

document.addEventListener('focusin', ({ target }) => {
  const focused = target as HTMLElement;
  // An item goes with its menu: the button of the menu stands for it.
  const menu = focused.closest('[role=menu]');
  last = menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : focused;
  if (!last?.closest('[role=dialog]')) below = last;
});

/** The dialogs that are open, by when they opened. */
const open = new Set<number>();
let openings = 0;

/** For a dialog that is built of parts. */
export function useFocusBack(opened: boolean): void {
  useLayoutEffect(() => {
    if (!opened) return;
    const opener = last;
    const opening = ++openings;
    open.add(opening);
    return () => {
      open.delete(opening);
      const inside = document.activeElement;
      // The dialog is gone by then, and another may have taken its place, and focus.
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
