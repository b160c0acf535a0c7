import { Box, Button, Card, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { keysSearch, type KeysSearch } from '../search.ts';
import { useState, type ReactNode } from 'react';
import { Dimmed } from '../../components/styles.ts';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { useMay } from '../../session.tsx';
import type { Key, NewKey } from '../../api-types.ts';
import { useKeys } from './key-data.ts';
import { KeyForm } from './KeyForm.tsx';
import { KeyRow } from './KeyRow.tsx';
import { KeyShown } from './KeyShown.tsx';
import { RevokeKey } from './RevokeKey.tsx';
import { RotateKey } from './RotateKey.tsx';
import './keys-texts.ts';
import styles from './Keys.module.css';
import { More } from '../../components/list/More.tsx';
import { useTranslation } from '../../i18n.ts';

/** Which dialog is open above the list. */
type OpenDialog = { what: 'edit' | 'rotate' | 'revoke'; key: Key } | null;

/** The account's keys: limits, use and changes. */
export function Keys() {
  const { t } = useTranslation('keys');
  const { show, create: creates } = useQueryOf(keysSearch);
  const navigate = useNavigate();
  const may = useMay('build');
  const state = show ?? 'active';
  const found = useKeys(state);
  const [open, setOpen] = useState<OpenDialog>(null);
  const [made, setMade] = useState<NewKey | null>(null);
  const { rows: keys, first } = found;
  const go = (search: KeysSearch) => void navigate({ to: '.', search, replace: true });
  const kept = show ? { show } : {};
  // The form is opened by the address, so that other pages can link to it.
  const create = () => go({ ...kept, create: true });
  const close = () => {
    setOpen(null);
    if (creates) go(kept);
  };
  const shown = (key: NewKey) => {
    close();
    setMade(key);
  };
  const rowOf = (key: Key) => (
    <KeyRow
      key={key.key_id}
      shown={key}
      defaults={first!.defaults}
      refused={first!.refused.filter(({ key_id }) => key_id === key.key_id)}
      onOpen={may ? (what) => setOpen({ what, key }) : null}
    />
  );
  return (
    <>
      <PageTitle title={t('common:nav.keys')} text={t('text')}>
        {may && (
          <Button leftSection={<IconPlus size={18} />} onClick={create}>
            {t('create')}
          </Button>
        )}
      </PageTitle>
      <SegmentedControl
        mb="md"
        aria-label={t('filter')}
        value={state}
        onChange={(value) => go(value === 'all' ? { show: value } : {})}
        data={[
          { value: 'active', label: t('active') },
          { value: 'all', label: t('all') },
        ]}
      />
      {found.error && <Failure error={found.error} retry={found.retry} />}
      {keys === undefined ? (
        !found.error && <Loading />
      ) : (
        <Stack gap="md" aria-busy={found.isOld}>
          {keys.length === 0 ? (
            <Card withBorder>
              <Empty
                icon={<IconKey size={28} />}
                title={t(state === 'all' ? 'empty_all' : 'empty')}
                text={t('empty_text')}
              >
                <Box component="code" className={styles.sample}>
                  Authorization: Key fbx_…
                </Box>
                {may && <Button onClick={create}>{t('create')}</Button>}
              </Empty>
            </Card>
          ) : (
            <Rows label={t('common:nav.keys')}>{keys.map(rowOf)}</Rows>
          )}
          <More of={found} mt={0} />
          <section aria-labelledby="studio-key">
            <Text component="h2" id="studio-key" fw={600} mt="sm">
              {t('common:studio')}
            </Text>
            <Dimmed mb="xs">{t('studio_text')}</Dimmed>
            <Rows label={t('common:studio')}>{rowOf(first!.studio)}</Rows>
          </section>
        </Stack>
      )}
      {first && (
        <>
          <KeyForm
            opened={(creates === true && may) || open?.what === 'edit'}
            changed={open?.what === 'edit' ? open.key : null}
            defaults={first.defaults}
            ceilings={first.ceilings}
            onClose={close}
            onMade={shown}
          />
          {open?.what === 'rotate' && (
            <RotateKey rotated={open.key} onClose={close} onMade={shown} />
          )}
          {open?.what === 'revoke' && <RevokeKey revoked={open.key} onClose={close} />}
        </>
      )}
      {made && <KeyShown made={made} onClose={() => setMade(null)} />}
    </>
  );
}

function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Card withBorder p={0} component="ul" className={styles.rows} aria-label={label}>
      {children}
    </Card>
  );
}

function Loading() {
  const { t } = useTranslation('common');
  return (
    <Card withBorder p={0} role="status" aria-label={t('loading')}>
      {[1, 2, 3].map((n) => (
        <Box key={n} className={styles.row}>
          <Skeleton h={40} maw={240} />
          <Skeleton h={32} />
          <Skeleton h={20} maw={110} />
          <Skeleton h={28} w={28} />
        </Box>
      ))}
    </Card>
  );
}
