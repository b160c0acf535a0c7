/** The dialogs of Mantine, apart, because `Dialog.tsx` loads them when one opens. */
export { Drawer, Modal } from '@mantine/core';
