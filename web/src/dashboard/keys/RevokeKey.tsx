import { useTranslation } from 'react-i18next';
import type { Key } from '../../api-types.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { useKeyChange } from './key-data.ts';
import { useKept } from '../../components/kept.ts';

/** Asks for one confirmation only, because a new key is quickly made. */
export function RevokeKey({ revoked, onClose }: { revoked: Key | null; onClose: () => void }) {
  const { t } = useTranslation('keys');
  const asked = useKept(revoked);
  const revoke = useKeyChange(({ key_id }: Key, api) =>
    api('DELETE /keys/:key_id', { params: { key_id } }),
  );
  return (
    <Confirm
      opened={revoked !== null}
      title={t('revoke_title', { name: asked?.name })}
      action={t('revoke')}
      onConfirm={() => revoke.mutateAsync(asked!)}
      onClose={onClose}
    >
      {t(asked?.scope === 'keys' ? 'revoke_manager_text' : 'revoke_text', { hint: asked?.hint })}
    </Confirm>
  );
}
