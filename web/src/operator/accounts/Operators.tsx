import { Outlet } from '@tanstack/react-router';
import { NothingHere } from '../../components/frame/NotFound.tsx';
import { Dimmed } from '../../components/styles.ts';
import { useMe } from '../../session.tsx';
import { useTranslation } from '../../i18n.ts';
import '../rights-texts.ts';

/**
 * Other users see that the page does not exist; the service answers their calls in the same way.
 */
export function Operators() {
  const { t } = useTranslation('operator_rights');
  const me = useMe();
  if (!me?.operator) return <NothingHere />;
  const { role } = me.operator;
  return (
    <>
      {role !== 'owner' && (
        <Dimmed mb="sm">
          {t('limited', { role: t(`role.${role}`), text: t(`role_text.${role}`) })}
        </Dimmed>
      )}
      <Outlet />
    </>
  );
}
