import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { Confirm } from '../components/Confirm.tsx';
import { useKeyChange, type Key } from './key-data.ts';

/** Says what stops at once, and asks once: a new key is soon made. */
export function RevokeKey({ revoked, onClose }: { revoked: Key | null; onClose: () => void }) {
  const { t } = useTranslation('keys');
  // Stays what it is while the dialog goes.
  const [asked, setAsked] = useState(revoked);
  if (revoked && revoked !== asked) setAsked(revoked);
  const revoke = useKeyChange((key: Key, path) =>
    call<Key>(path(`/keys/${key.key_id}`), { method: 'DELETE' }),
  );
  return (
    <Confirm
      opened={revoked !== null}
      title={t('revoke_title', { name: asked?.name })}
      action={t('revoke')}
      onConfirm={() => revoke.mutateAsync(asked!)}
      onClose={onClose}
    >
      {t('revoke_text', { hint: asked?.hint })}
    </Confirm>
  );
}
