import {
  ActionIcon,
  Alert,
  AppShell,
  Box,
  Burger,
  Group,
  NativeSelect,
  NavLink,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconSearch, IconUserCircle } from '@tabler/icons-react';
import { Link, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useLive } from '../../live.tsx';
import type { Me } from '../../api-types.ts';
import { AccountScope, chooseAccount, useSwitchAccount } from '../../session.tsx';
import { Palette } from '../palette/Palette.tsx';
import { sectionsOf, type Section } from './sections.tsx';

/** Pages that a user without an account may see. */
const ownPages = ['/dashboard/settings', '/operator'];

const PersonMenu = lazy(() => import('./PersonMenu.tsx'));
const NoAccount = lazy(() => import('./NoAccount.tsx'));

/** The frame around every page of a signed-in user: header, menu and content. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const { t } = useTranslation('common');
  const [open, { toggle, close }] = useDisclosure(false);
  const [asks, palette] = useDisclosure(false);
  const { pathname } = useLocation();
  const account = chooseAccount(me.accounts);
  const known = sectionsOf(me);
  const section = known.find(({ path }) => pathname.startsWith(path)) ?? known[0]!;
  const active = activePage(pathname, section);
  const page = (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !open } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a href="#content" className="skip-link">
        {t('skip')}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={open}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t('open_menu')}
            />
            <Logo />
            <Group component="nav" gap={4} visibleFrom="sm" aria-label="Farebox">
              {known.map((each) => (
                <SectionLink key={each.path} section={each} active={each === section} />
              ))}
            </Group>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SearchButton onClick={palette.toggle} />
            <PersonButton me={me} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm">
        <AppShell.Section hiddenFrom="sm" mb="sm">
          <Group gap={4}>
            {known.map((each) => (
              <SectionLink key={each.path} section={each} active={each === section} />
            ))}
          </Group>
        </AppShell.Section>
        {me.accounts.length > 1 && account && section.path !== '/operator' && (
          <AppShell.Section mb="sm">
            <AccountSelect me={me} chosen={account.account_id} />
          </AppShell.Section>
        )}
        <AppShell.Section grow style={{ overflowY: 'auto' }}>
          <nav aria-label={t(section.name)}>
            {section.pages.map(({ path, name, icon: Icon }) => (
              <NavLink
                key={path}
                component={Link}
                to={path}
                label={t(`nav.${name}`)}
                leftSection={<Icon size={18} stroke={1.6} />}
                active={path === active}
                activeOptions={{ exact: path === section.path }}
                aria-current={path === active ? 'page' : undefined}
                onClick={close}
                fw={500}
                style={{ borderRadius: 8 }}
              />
            ))}
          </nav>
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Box maw={1180} mx="auto">
          {account?.status === 'suspended' && section.path !== '/operator' && <Suspended />}
          {account || ownPages.some((path) => pathname.startsWith(path)) ? (
            children
          ) : (
            <Suspense>
              <NoAccount />
            </Suspense>
          )}
        </Box>
      </AppShell.Main>
      <Palette
        me={me}
        sections={known}
        opened={asks}
        toggle={palette.toggle}
        close={palette.close}
      />
    </AppShell>
  );
  if (!account) return page;
  return (
    <AccountScope account={account}>
      <Live />
      {page}
    </AccountScope>
  );
}

function Suspended() {
  const { t } = useTranslation('common');
  return (
    <Alert color="red" icon={<IconAlertTriangle />} title={t('suspended.title')} mb="lg">
      {t('suspended.text')}
    </Alert>
  );
}

function Live() {
  useLive();
  return null;
}

/** The menu entry of the shown page, or of the page above it. */
function activePage(pathname: string, { pages }: Section): string | undefined {
  const above = pages
    .map(({ path }) => path)
    .filter((path) => `${pathname}/`.startsWith(`${path}/`))
    // Every path of the console begins with /operator, but that page is not above the others.
    .filter((path) => path !== '/operator' || pathname === path);
  return above.toSorted((a, b) => b.length - a.length)[0];
}

function Logo() {
  return (
    <Link to="/" aria-label="Farebox" style={{ textDecoration: 'none', color: 'inherit' }}>
      <Group gap={8} wrap="nowrap">
        <img src="/favicon.svg" alt="" width={26} height={26} />
        <Text fw={700} fz="lg" visibleFrom="xs">
          Farebox
        </Text>
      </Group>
    </Link>
  );
}

function SectionLink({ section, active }: { section: Section; active: boolean }) {
  const { t } = useTranslation('common');
  return (
    <UnstyledButton
      component={Link}
      to={section.path}
      px="sm"
      py={6}
      fw={active ? 650 : 500}
      fz="sm"
      bg={active ? 'var(--mantine-color-default-hover)' : undefined}
      aria-current={active ? 'true' : undefined}
      style={{ borderRadius: 8 }}
    >
      {t(section.name)}
    </UnstyledButton>
  );
}

function SearchButton({ onClick }: { onClick: () => void }) {
  const { t } = useTranslation('common');
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={onClick}
      aria-label={t('search')}
      aria-haspopup="dialog"
      aria-keyshortcuts="Control+K Meta+K"
      title="Ctrl K"
    >
      <IconSearch size={18} />
    </ActionIcon>
  );
}

function AccountSelect({ me, chosen }: { me: Me; chosen: string }) {
  const { t } = useTranslation('common');
  const switchTo = useSwitchAccount();
  return (
    <NativeSelect
      label={t('account')}
      data={me.accounts.map(({ account_id, name }) => ({ value: account_id, label: name }))}
      value={chosen}
      onChange={(event) => switchTo(event.currentTarget.value)}
    />
  );
}

/** The menu is loaded when first opened. */
function PersonButton({ me }: { me: Me }) {
  const [asked, { open }] = useDisclosure(false);
  const button = (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={me.name}
      aria-haspopup="menu"
      onClick={open}
    >
      <IconUserCircle size={20} />
    </ActionIcon>
  );
  if (!asked) return button;
  return (
    <Suspense fallback={button}>
      <PersonMenu me={me} />
    </Suspense>
  );
}
