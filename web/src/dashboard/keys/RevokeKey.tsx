import type { Key } from '../../api-types.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { useKeyChange } from './key-data.ts';
import { useTranslation } from '../../i18n.ts';

/** Asks for one confirmation only, because a new key is quickly made. */
export function RevokeKey({ revoked, onClose }: { revoked: Key; onClose: () => void }) {
  const { t } = useTranslation('keys');
  const { name, scope, hint } = revoked;
  const revoke = useKeyChange(({ key_id }: Key, api) =>
    api('DELETE /keys/:key_id', { params: { key_id } }),
  );
  return (
    <Confirm
      opened
      title={t('revoke_title', { name })}
      action={t('revoke')}
      onConfirm={() => revoke.mutateAsync(revoked)}
      onClose={onClose}
    >
      {t(scope === 'keys' ? 'revoke_manager_text' : 'revoke_text', { hint })}
    </Confirm>
  );
}
