import { ActionIcon, Badge, Button, Stack, Text, Title } from '@mantine/core';

/** Elements in styles that all pages share. */

export const Dimmed = Text.withProps({ fz: 13, c: 'dimmed' });
/** Smaller still than `Dimmed`. */
export const Note = Text.withProps({ size: 'xs', c: 'dimmed' });
/** The name of a list's row. */
export const RowName = Text.withProps({ fz: 'sm', fw: 500 });
/** The heading of a section. */
export const Heading = Title.withProps({ order: 2, fz: 'lg' });
export const PlainButton = Button.withProps({ variant: 'default' });
/** A button within a row of a list. */
export const RowButton = Button.withProps({ variant: 'default', size: 'xs' });
export const QuietIcon = ActionIcon.withProps({ variant: 'subtle', color: 'gray' });
/** The end of a card, below a line. */
export const CardFoot = Stack.withProps({
  gap: 'xs',
  mt: 'md',
  pt: 'md',
  style: { borderTop: '1px solid var(--mantine-color-default-border)' },
});
/** A state, with a dot of its colour; never cut short. */
export const Dot = Badge.withProps({ variant: 'dot', fw: 500, miw: 'max-content' });
/** A property, outlined: for a few fixed words, as it cuts longer text. */
export const Tag = Badge.withProps({
  variant: 'outline',
  color: 'gray',
  c: 'var(--mantine-color-text)',
  fw: 500,
});
