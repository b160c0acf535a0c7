import { createTheme, type MantineColorsTuple } from '@mantine/core';
import i18next from 'i18next';
import './words.ts';

/** A calm teal, dark enough for white text on it. */
const teal: MantineColorsTuple = [
  '#e9fbf8',
  '#d3f3ee',
  '#a7e7dd',
  '#76dacb',
  '#4fcfbc',
  '#2fbfaa',
  '#159987',
  '#0f766e',
  '#0b5f58',
  '#074a45',
];

/** Labels close buttons for screen readers, in the current language. */
const closeButtonProps = {
  get 'aria-label'() {
    return i18next.t('common:close');
  },
};

export const theme = createTheme({
  primaryColor: 'fare',
  primaryShade: { light: 7, dark: 7 },
  colors: { fare: teal },
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  defaultRadius: 'md',
  autoContrast: true,
  // Follows the system's reduced-motion setting.
  respectReducedMotion: true,
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  // Set by name, because importing the components would load them with the first page.
  components: {
    Badge: { defaultProps: { tt: 'none' } },
    Anchor: { defaultProps: { underline: 'always' } },
    Drawer: { defaultProps: { closeButtonProps } },
    Modal: { defaultProps: { closeButtonProps } },
    // A page has one banner landmark, so the head of a dialog must not be one.
    ModalHeader: { defaultProps: { component: 'div' } },
    DrawerHeader: { defaultProps: { component: 'div' } },
    Notification: { defaultProps: { closeButtonProps } },
  },
});
