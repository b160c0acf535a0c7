import { createTheme, defaultVariantColorsResolver, type MantineColorsTuple } from '@mantine/core';
import { translate } from './i18n.ts';

/** The accent in ten shades, for what Mantine computes; `look/mantine.css` has those that are seen. */
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

/** Labels buttons without a text for screen readers, in the current language. */
const labelled = (name: 'close' | 'show_password') => ({
  get 'aria-label'() {
    return translate(`common:${name}`);
  },
});
const closeButtonProps = labelled('close');
const visibilityToggleButtonProps = labelled('show_password');

export const theme = createTheme({
  primaryColor: 'fare',
  primaryShade: { light: 7, dark: 7 },
  colors: { fare: teal },
  // Text on the accent is dark in the dark theme.
  variantColorResolver: (input) => {
    const isAccent = input.variant === 'filled' && (input.color ?? 'fare') === 'fare';
    return { ...defaultVariantColorsResolver(input), ...(isAccent && { color: 'var(--on-a)' }) };
  },
  fontFamily: 'var(--font)',
  fontFamilyMonospace: 'var(--mono)',
  // From `lg` on the menu shows names.
  breakpoints: { lg: '80em' },
  fontSizes: { xs: '12px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '1.35', sm: '1.45', md: '1.45', lg: '1.5', xl: '1.4' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { xs: '4px', sm: '6px', md: '6px', lg: '8px', xl: '99px' },
  defaultRadius: 'md',
  // Follows the system's reduced-motion setting.
  respectReducedMotion: true,
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '20px', lineHeight: '1.4' },
      h2: { fontSize: '16px', lineHeight: '1.5' },
      h3: { fontSize: '14px', lineHeight: '1.45' },
    },
  },
  cursorType: 'pointer',
  // Set by name, because importing the components would load them with the first page.
  components: {
    Checkbox: { defaultProps: { iconColor: 'var(--on-a)' } },
    Badge: { defaultProps: { tt: 'none' } },
    Anchor: { defaultProps: { underline: 'always' } },
    Drawer: { defaultProps: { closeButtonProps } },
    // The first item gets the focus, as in every menu; the placeholder may not stand in one.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: { defaultProps: { closeButtonProps, radius: 'lg' } },
    Card: { defaultProps: { radius: 'lg' } },
    // A page has one banner landmark, so the head of a dialog must not be one.
    ModalHeader: { defaultProps: { component: 'div' } },
    DrawerHeader: { defaultProps: { component: 'div' } },
    Notification: { defaultProps: { closeButtonProps } },
    // The list itself scrolls, see `look/mantine.css`.
    MultiSelect: { defaultProps: { withScrollArea: false } },
    Select: { defaultProps: { withScrollArea: false } },
    PasswordInput: { defaultProps: { visibilityToggleButtonProps } },
  },
});
