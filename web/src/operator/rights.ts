import type { Me } from '../api-types.ts';
import { useMe } from '../session.tsx';
import { useTranslation } from '../i18n.ts';
import './rights-texts.ts';

export type OperatorRight = NonNullable<Me['operator']>['rights'][number];

/**
 * For each action, the props of its button: disabled with the reason if the operator's role does not
 * include its right, otherwise none. The service refuses such a call, too.
 */
export function useRightProps(): (right: OperatorRight) => { disabled?: true; title?: string } {
  const { t } = useTranslation('operator_rights');
  const operator = useMe()?.operator;
  return (right) => {
    if (!operator || operator.rights.includes(right)) return {};
    const role = t(`role.${operator.role}`);
    return { disabled: true, title: t('lacks', { role, right: t(`right.${right}`) }) };
  };
}
