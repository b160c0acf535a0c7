import { Badge, Box, Group, Menu, Progress, Text } from '@mantine/core';
import { IconDots, IconPencil, IconRotate, IconTrash } from '@tabler/icons-react';
import { Dimmed, QuietIcon, RowButton } from '../../components/styles.ts';
import { Ago, Usd, When } from '../../components/text.tsx';
import { showFailure } from '../../components/Failure.tsx';
import { formatUsd } from '../../money.ts';
import type { Key, RefusedCalls } from '../../api-types.ts';
import { useKeyChange, type Defaults } from './key-data.ts';
import styles from './Keys.module.css';
import { Refused } from './Refused.tsx';
import { useTranslation } from '../../i18n.ts';

export type KeyAction = 'edit' | 'rotate' | 'revoke';

/** A key in the list. `onOpen` is null for members who may only view. */
export function KeyRow(props: {
  shown: Key;
  defaults: Defaults;
  refused: RefusedCalls[];
  onOpen: ((what: KeyAction) => void) | null;
}) {
  const { t } = useTranslation('keys');
  const { shown, onOpen } = props;
  const isOver = shown.state !== 'active';
  return (
    <li>
      <div className={`${styles.row} ${isOver ? styles.gone : ''}`}>
        <Who shown={shown} />
        {shown.scope === 'keys' ? (
          <Dimmed className={styles.month}>{t('manager_row')}</Dimmed>
        ) : (
          <Month shown={shown} />
        )}
        <Used shown={shown} defaults={props.defaults} />
        <Box className={styles.menu}>
          {onOpen && shown.state !== 'revoked' && <KeyActions shown={shown} onOpen={onOpen} />}
        </Box>
        {props.refused.length > 0 && (
          <div className={styles.note}>
            <Refused refused={props.refused} />
          </div>
        )}
        {shown.previous_until !== null && shown.state === 'active' && (
          <Overlap shown={shown} may={onOpen !== null} />
        )}
      </div>
    </li>
  );
}

function Who({ shown }: { shown: Key }) {
  const { t } = useTranslation('keys');
  const { state, models, expires_at, revoked_at } = shown;
  return (
    <div className={styles.who}>
      <Group gap={8}>
        <span className={styles.name}>{shown.is_studio ? t('studio_name') : shown.name}</span>
        {shown.scope === 'keys' && (
          <Badge variant="light" fw={500} color="grape">
            {t('scope_badge')}
          </Badge>
        )}
        {state !== 'active' && (
          <Badge variant="light" fw={500} color={state === 'expired' ? 'yellow' : 'gray'}>
            {t(state)}
          </Badge>
        )}
      </Group>
      <Dimmed component="div">
        {!shown.is_studio && <span className={styles.hint}>{shown.hint}</span>}
        {models !== null && (
          <span title={models.join('\n')}>
            {' · '}
            {models.length === 1 ? models[0] : t('models_count', { count: models.length })}
          </span>
        )}
      </Dimmed>
      {shown.created_by_name !== null && (
        <Dimmed>{t('created_by', { name: shown.created_by_name })}</Dimmed>
      )}
      {revoked_at !== null ? (
        <Dimmed>
          {t('revoked_on')} <When at={revoked_at} as="date" />
        </Dimmed>
      ) : (
        expires_at !== null && (
          <Dimmed>
            {t(state === 'expired' ? 'expired_on' : 'expires_on')}{' '}
            <When at={expires_at} as="date" />
          </Dimmed>
        )
      )}
    </div>
  );
}

/** How much of its monthly limit the key has spent. */
function Month({ shown }: { shown: Key }) {
  const { t } = useTranslation('keys');
  const { spent_usd_micro: spent, monthly_limit_usd_micro: limit } = shown;
  const share = limit === null ? 0 : shareOf(BigInt(spent), BigInt(limit));
  return (
    <div className={styles.month}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Dimmed component="span">{t('this_month')}</Dimmed>
        <Text size="sm" component="span" ta="right">
          <Usd micro={spent} />{' '}
          <Dimmed span>
            {limit === null ? (
              t('no_limit')
            ) : (
              <>
                {t('of')} <Usd micro={limit} />
              </>
            )}
          </Dimmed>
        </Text>
      </Group>
      {limit !== null && (
        <Progress
          mt={6}
          size="sm"
          value={share}
          color={share >= 100 ? 'red' : share >= 80 ? 'yellow' : 'fare'}
          aria-label={t('share', { spent: formatUsd(spent), limit: formatUsd(limit) })}
        />
      )}
      {limit !== null && (
        <Text size="xs" c={share >= 100 ? undefined : 'dimmed'} mt={4}>
          {t(share >= 100 ? 'limit_reached' : 'resets')} <When at={shown.resets_at} as="date" />
        </Text>
      )}
    </div>
  );
}

/** In percent; a limit of 0 counts as used up. */
function shareOf(spent: bigint, limit: bigint): number {
  return limit === 0n ? 100 : Math.min(100, Number((spent * 10_000n) / limit) / 100);
}

function Used({ shown, defaults }: { shown: Key; defaults: Defaults }) {
  const { t } = useTranslation('keys');
  return (
    <div className={styles.used}>
      <Text size="sm">
        {shown.last_used_at === null ? (
          <Dimmed span>{t('never_used')}</Dimmed>
        ) : (
          <>
            {t('used')} <Ago at={shown.last_used_at} />
          </>
        )}
      </Text>
      <Dimmed>
        {t('rpm_shown', { count: shown.rpm ?? defaults.rpm })}
        {shown.scope === 'spend' && (
          <>
            <br />
            {t('jobs_shown', {
              open: shown.open_requests,
              jobs: shown.open_jobs ?? defaults.open_jobs,
            })}
          </>
        )}
      </Dimmed>
    </div>
  );
}

function KeyActions({ shown, onOpen }: { shown: Key; onOpen: (what: KeyAction) => void }) {
  const { t } = useTranslation('keys');
  const name = shown.is_studio ? t('studio_name') : shown.name;
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <QuietIcon size="lg" aria-label={t('actions', { name })}>
          <IconDots size={18} />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => onOpen('edit')}>
          {t('edit')}
        </Menu.Item>
        {!shown.is_studio && shown.state === 'active' && (
          <Menu.Item leftSection={<IconRotate size={16} />} onClick={() => onOpen('rotate')}>
            {t('rotate')}
          </Menu.Item>
        )}
        {!shown.is_studio && (
          <>
            <Menu.Divider />
            <Menu.Item
              className={styles.danger}
              leftSection={<IconTrash size={16} />}
              onClick={() => onOpen('revoke')}
            >
              {t('revoke')}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

/** After a rotation: until when the previous secret works, its last use, and a button to end it. */
function Overlap({ shown, may }: { shown: Key; may: boolean }) {
  const { t } = useTranslation('keys');
  const end = useKeyChange(({ key_id }: Key, api) =>
    api('DELETE /keys/:key_id/previous', { params: { key_id } }),
  );
  return (
    <div className={`${styles.note} ${styles.overlap}`}>
      <Text size="sm">
        {t('overlap_until')} <When at={shown.previous_until!} as="exact" />.{' '}
        {shown.previous_used_at === null ? (
          t('overlap_unused')
        ) : (
          <>
            {t('overlap_used')} <Ago at={shown.previous_used_at} />.
          </>
        )}
      </Text>
      {may && (
        <RowButton
          loading={end.isPending}
          onClick={() => end.mutate(shown, { onError: showFailure })}
        >
          {t('overlap_end')}
        </RowButton>
      )}
    </div>
  );
}
