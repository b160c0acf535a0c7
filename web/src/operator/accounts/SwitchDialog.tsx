import { Text } from '@mantine/core';
import { FormModal } from '../../components/FormModal.tsx';
import type { OperatorAccount } from '../../api-types.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';

const switches = {
  suspend: {
    route: 'POST /accounts/:account_id/suspend',
    given: {},
    label: 'suspend',
    done: 'suspended',
    danger: true,
  },
  resume: {
    route: 'POST /accounts/:account_id/resume',
    given: {},
    label: 'resume',
    done: 'resumed',
    danger: false,
  },
  operator: {
    route: 'PUT /accounts/:account_id/operator',
    given: { body: { is_operator: true } },
    label: 'make_operator',
    done: 'operator_set',
    danger: true,
  },
  unoperator: {
    route: 'PUT /accounts/:account_id/operator',
    given: { body: { is_operator: false } },
    label: 'unmake_operator',
    done: 'unoperator_set',
    danger: true,
  },
  stop_keys: {
    route: 'PUT /accounts/:account_id/keys-by-api',
    given: { body: { keys_by_api: false } },
    label: 'stop_keys',
    done: 'keys_stopped',
    danger: true,
  },
  allow_keys: {
    route: 'PUT /accounts/:account_id/keys-by-api',
    given: { body: { keys_by_api: true } },
    label: 'allow_keys',
    done: 'keys_allowed',
    danger: false,
  },
} as const;
import { useTranslation } from '../../i18n.ts';

/** A setting that is on or off, with a confirmation. */
export function SwitchDialog(props: {
  action: keyof typeof switches;
  account: OperatorAccount;
  onClose: () => void;
}) {
  const { t } = useTranslation('operator_account');
  const { action, account, onClose } = props;
  const { route, given, label, done, danger } = switches[action];
  const act = useAction();
  const params = { account_id: account.account_id };
  return (
    <FormModal
      onClose={onClose}
      title={t(`${action}_title`)}
      submit={t(label)}
      danger={danger}
      onSubmit={() => act(route, { params, ...given }, t(done))}
    >
      <Text fw={600} className="wrap">
        {account.email}
      </Text>
      <Text size="sm">{t(`${action}_text`)}</Text>
    </FormModal>
  );
}
