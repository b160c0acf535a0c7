import { Alert, Box, Group, NativeSelect, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, type ReactNode } from 'react';
import { useLive } from '../../live.tsx';
import type { Me } from '../../api-types.ts';
import { AccountScope, chooseAccount, useSwitchAccount } from '../../session.tsx';
import { Banner } from './Banner.tsx';
import { Palette } from '../palette/Palette.tsx';
import { Balance, PersonButton, SearchButton } from './Header.tsx';
import { BottomBar, SideMenu } from './Menu.tsx';
import { sectionsOf, type Section } from './sections.tsx';
import classes from './Shell.module.css';
import { useTranslation } from '../../i18n.ts';

/** Pages that a user without an account may see. */
const ownPages = ['/dashboard/settings', '/operator'];

const NoAccount = lazy(() => import('./NoAccount.tsx'));

/** The frame around every page of a signed-in user: header, menu and content. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const { t } = useTranslation('common');
  const [open, { toggle, close }] = useDisclosure(false);
  const [isConfirming, palette] = useDisclosure(false);
  const { pathname } = useLocation();
  const account = chooseAccount(me.accounts);
  const known = sectionsOf(me);
  // The studio first, as on the public pages.
  const inHeader = known.toSorted((a, b) => +(b.path === '/studio') - +(a.path === '/studio'));
  const section = known.find(({ path }) => pathname.startsWith(path)) ?? known[0]!;
  const active = activePage(pathname, section);
  const switchAccount = me.accounts.length > 1 && account && section.path !== '/operator' && (
    <AccountSelect me={me} chosen={account.account_id} />
  );
  const page = (
    <div className={classes.frame}>
      <a href="#content" className="skip-link">
        {t('skip')}
      </a>
      <header className={`${classes.header} no-print`}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="md" wrap="nowrap">
            <Logo />
            <Group component="nav" gap={4} visibleFrom="sm" aria-label="Farebox">
              <SiteLink path="/models" name="nav.models" />
              {inHeader.map((each) => (
                <SectionLink key={each.path} section={each} active={each === section} />
              ))}
              <SiteLink path="/docs" name="nav.docs" />
            </Group>
          </Group>
          <div className={classes.tools}>
            {/* Beside the icons of a tablet's menu there is no room for it. */}
            <div className={classes.tablet}>{switchAccount}</div>
            <SearchButton onClick={palette.toggle} />
            {account && section.path !== '/operator' && <Balance />}
            <PersonButton me={me} />
          </div>
        </Group>
      </header>
      <nav className={`${classes.side} no-print`} data-open={open || undefined}>
        <Group hiddenFrom="sm" p="sm" pb={0} gap={4}>
          {inHeader.map((each) => (
            <SectionLink key={each.path} section={each} active={each === section} />
          ))}
        </Group>
        {switchAccount && (
          <Box p="sm" pb={0} className={classes.wide}>
            {switchAccount}
          </Box>
        )}
        <div className={classes.menu}>
          <SideMenu section={section} active={active} onClick={close} />
        </div>
      </nav>
      <main id="content" tabIndex={-1} className={classes.main}>
        <Box maw={section.path === '/studio' ? 2400 : 1240} mx="auto">
          <Banner />
          {account?.status === 'suspended' && section.path !== '/operator' && <Suspended />}
          {account || ownPages.some((path) => pathname.startsWith(path)) ? (
            children
          ) : (
            <Suspense>
              <NoAccount />
            </Suspense>
          )}
        </Box>
      </main>
      <footer className={`${classes.footer} no-print`}>
        <BottomBar section={section} active={active} isOpen={open} toggle={toggle} />
      </footer>
      <Palette
        me={me}
        sections={known}
        opened={isConfirming}
        toggle={palette.toggle}
        close={palette.close}
      />
    </div>
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
        <img src="/favicon.svg" alt="" width={24} height={24} />
        <Text fw={600} fz={15}>
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
      className={classes.section}
      aria-current={active ? 'true' : undefined}
    >
      {t(section.name)}
    </UnstyledButton>
  );
}

/** A public page, which the service writes. */
function SiteLink({ path, name }: { path: string; name: string }) {
  const { t } = useTranslation('common');
  return (
    <UnstyledButton component="a" href={path} className={classes.section}>
      {t(name)}
    </UnstyledButton>
  );
}

function AccountSelect({ me, chosen }: { me: Me; chosen: string }) {
  const { t } = useTranslation('common');
  const switchTo = useSwitchAccount();
  return (
    <NativeSelect
      aria-label={t('account')}
      data={me.accounts.map(({ account_id, name }) => ({ value: account_id, label: name }))}
      value={chosen}
      onChange={(event) => switchTo(event.currentTarget.value)}
    />
  );
}
