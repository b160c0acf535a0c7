import { Badge, Box, Group, Text, ThemeIcon } from '@mantine/core';
import { IconDeviceDesktop, IconDeviceMobile, IconDevices } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Note, PlainButton, RowButton } from '../../components/styles.ts';
import { api } from '../../api.ts';
import type { Security, Session } from '../../api-types.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { When } from '../../components/text.tsx';
import { browserOf } from './browser-name.ts';
import { securityQuery } from './security.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { useOptimisticUpdate } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

/** The user's sessions. All except this browser's can be signed out. */
export function Browsers({ sessions }: { sessions: Session[] }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const { queryKey } = securityQuery;
  const update = useOptimisticUpdate<Security>(queryKey);
  const others = sessions.filter(({ is_this }) => !is_this);
  const ordered = [...sessions.filter(({ is_this }) => is_this), ...others];
  const end = ({ session_id }: Session) =>
    update(
      (before) => ({
        ...before,
        sessions: before.sessions.filter((each) => each.session_id !== session_id),
      }),
      () => api('DELETE /api/me/sessions/:session_id', { params: { session_id } }),
    );
  const endOthers = async () => {
    await api('DELETE /api/me/sessions');
    await queries.invalidateQueries({ queryKey });
  };
  return (
    <SettingsCard icon={<IconDevices size={20} />} title={t('browsers')} text={t('browsers_text')}>
      <ul className="rows">
        {ordered.map((session) => (
          <Browser key={session.session_id} session={session} onEnd={() => void end(session)} />
        ))}
      </ul>
      {others.length > 0 && (
        <Group justify="flex-end">
          <PlainButton onClick={() => setAsking(true)}>{t('end_others')}</PlainButton>
        </Group>
      )}
      <Confirm
        opened={asking}
        title={t('end_others')}
        action={t('end_others')}
        onConfirm={endOthers}
        onClose={() => setAsking(false)}
      >
        {t('end_others_text')}
      </Confirm>
    </SettingsCard>
  );
}

function Browser({ session, onEnd }: { session: Session; onEnd: () => void }) {
  const { t } = useTranslation('settings');
  const { name, system, isPhone } = browserOf(session.user_agent);
  const words =
    name === null
      ? t('unknown_browser')
      : system === null
        ? name
        : t('browser_on', { name, system });
  const Icon = isPhone ? IconDeviceMobile : IconDeviceDesktop;
  return (
    <Group component="li" justify="space-between" gap="sm" wrap="nowrap">
      <Group gap="sm" wrap="nowrap" miw={0}>
        <ThemeIcon variant="default" size={34} radius="md">
          <Icon size={18} stroke={1.6} />
        </ThemeIcon>
        <Box miw={0}>
          <Group gap="xs">
            <Text fw={600} size="sm">
              {words}
            </Text>
            {session.is_this && (
              <Badge size="sm" variant="light">
                {t('this_browser')}
              </Badge>
            )}
          </Group>
          <Note>
            {session.ip_address && <span className="number">{session.ip_address} · </span>}
            {t('since')} <When at={session.created_at} />
          </Note>
        </Box>
      </Group>
      {!session.is_this && (
        <RowButton flex="none" onClick={onEnd} aria-label={`${t('end')}: ${words}`}>
          {t('end')}
        </RowButton>
      )}
    </Group>
  );
}
