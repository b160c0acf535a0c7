import { ActionIcon, Kbd, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Me } from '../../api-types.ts';
import { useAccountQuery } from '../../queries.ts';
import { Usd } from '../text.tsx';
import { initials } from './initials.ts';
import classes from './Shell.module.css';
import { useTranslation } from '../../i18n.ts';

const PersonMenu = lazy(() => import('./PersonMenu.tsx'));

/** Opens the palette. A field on wide screens, else an icon. */
export function SearchButton({ onClick }: { onClick: () => void }) {
  const { t } = useTranslation('common');
  const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K';
  return (
    <UnstyledButton
      className={classes.search}
      onClick={onClick}
      aria-haspopup="dialog"
      aria-keyshortcuts="Control+K Meta+K"
      title={keys}
    >
      <IconSearch size={16} aria-hidden />
      <span className={classes.hint}>{t('search')}</span>
      <Kbd size="xs" className={classes.keys}>
        {keys}
      </Kbd>
    </UnstyledButton>
  );
}

/** The account's available balance, which the event stream keeps up to date. */
export function Balance() {
  const { t } = useTranslation('common');
  const { data } = useAccountQuery('GET /balance', {}, { enabled: false });
  return (
    <Link to="/dashboard/money" className={classes.balance} title={t('available')}>
      {data && <Usd micro={data.available_usd_micro} />}
    </Link>
  );
}

/** The person's initials. The menu is loaded when first opened. */
export function PersonButton({ me }: { me: Me }) {
  const [asked, { open }] = useDisclosure(false);
  const button = (
    <ActionIcon
      variant="light"
      radius="xl"
      size={32}
      fz={12}
      aria-label={me.name}
      aria-haspopup="menu"
      onClick={open}
    >
      {initials(me.name)}
    </ActionIcon>
  );
  if (!asked) return button;
  return (
    <Suspense fallback={button}>
      <PersonMenu me={me} />
    </Suspense>
  );
}
