import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Select,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch, IconUserCircle } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useLocation, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { AccountScope, chooseAccount, keepAccount, type Me } from '../session.tsx';
import { languages, setLanguage, type Language } from '../words.ts';
import { sections, type Section } from './sections.tsx';
import { openPalette, Palette } from './Palette.tsx';

/** Around every page of somebody who is signed in: where they are, and where they can go. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const { t } = useTranslation('common');
  const [open, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const account = chooseAccount(me.accounts);
  const known = sections.filter(({ path }) => path !== '/operator' || me.is_operator);
  const section = known.find(({ path }) => pathname.startsWith(path)) ?? known[0]!;
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
            <SearchButton />
            <PersonMenu me={me} />
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
        <AppShell.Section grow component={ScrollArea}>
          <nav aria-label={t(section.name)}>
            {section.pages.map(({ path, name, icon: Icon }) => (
              <NavLink
                key={path}
                component={Link}
                to={path}
                activeOptions={{ exact: path === section.path }}
                label={t(`nav.${name}`)}
                leftSection={<Icon size={18} stroke={1.6} />}
                active={isActive(pathname, path, section)}
                activeOptions={{ exact: path === section.path }}
                aria-current={isActive(pathname, path, section) ? 'page' : undefined}
                onClick={close}
                fw={500}
                style={{ borderRadius: 8 }}
              />
            ))}
          </nav>
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Box maw={1180} mx="auto">
          {children}
        </Box>
      </AppShell.Main>
      <Palette sections={known} />
    </AppShell>
  );
  return account ? <AccountScope account={account}>{page}</AccountScope> : page;
}

function isActive(pathname: string, path: string, section: Section): boolean {
  if (path === section.path) return pathname === path || pathname === `${path}/`;
  return pathname === path || pathname.startsWith(`${path}/`);
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

function SearchButton() {
  const { t } = useTranslation('common');
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={openPalette}
      aria-label={t('search')}
      title="Ctrl K"
    >
      <IconSearch size={18} />
    </ActionIcon>
  );
}

function AccountSelect({ me, chosen }: { me: Me; chosen: string }) {
  const { t } = useTranslation('common');
  const queries = useQueryClient();
  const router = useRouter();
  return (
    <Select
      label={t('account')}
      data={me.accounts.map(({ account_id, name }) => ({ value: account_id, label: name }))}
      value={chosen}
      allowDeselect={false}
      onChange={(account_id) => {
        if (account_id === null) return;
        keepAccount(account_id);
        queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === 'account' });
        void router.invalidate();
      }}
    />
  );
}

function PersonMenu({ me }: { me: Me }) {
  const { t, i18n } = useTranslation('common');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const queries = useQueryClient();
  const leave = async () => {
    await call('/api/auth/sign-out', { method: 'POST', body: {} });
    queries.clear();
    // Nothing of this person stays in the page's memory.
    location.assign('/sign-in');
  };
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={me.name}>
          <IconUserCircle size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.email}</Menu.Label>
        <Menu.Item component={Link} to="/cabinet/settings">
          {t('settings')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('theme.label')}</Menu.Label>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            fw={colorScheme === scheme ? 650 : 400}
            closeMenuOnClick={false}
          >
            {t(`theme.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{t('language')}</Menu.Label>
        {Object.entries(languages).map(([code, name]) => (
          <Menu.Item
            key={code}
            lang={code}
            onClick={() => setLanguage(code as Language)}
            fw={i18n.language === code ? 650 : 400}
            closeMenuOnClick={false}
          >
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave()}>{t('sign_out')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
