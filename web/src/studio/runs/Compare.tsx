import { Group, Stack, Table } from '@mantine/core';
import { useTranslation } from '../../i18n.ts';
import { Note } from '../../components/styles.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Usd } from '../../components/text.tsx';
import { DownloadLink } from './DownloadLink.tsx';
import classes from './Runs.module.css';
import { useCard, useOutput, type Run } from './runs.ts';
import { Shown, Words } from './Shown.tsx';

/** Two to four results side by side, with the settings that differ. */
export default function Compare({ runs, onClose }: { runs: Run[]; onClose: () => void }) {
  const { t } = useTranslation('studio');
  return (
    <Modal opened onClose={onClose} fullScreen title={t('compare', { count: runs.length })}>
      <div className={classes.columns} role="group" tabIndex={0} aria-label={t('side_by_side')}>
        {runs.map((run) => (
          <Column key={run.request_id} run={run} runs={runs} />
        ))}
      </div>
    </Modal>
  );
}

function Column({ run, runs }: { run: Run; runs: Run[] }) {
  const { t } = useTranslation('studio');
  const output = useOutput(run);
  const input = useCard(run.request_id).data?.input ?? {};
  // The number of hooks is constant: the compared runs do not change.
  const others = runs.map(({ request_id }) => useCard(request_id).data?.input ?? {});
  const isOwn = (name: string) =>
    others.some((other) => JSON.stringify(other[name]) !== JSON.stringify(input[name]));
  const names = [...new Set(others.flatMap((other) => Object.keys(other)))];
  const charged = run.charged_usd_micro ?? run.quoted_usd_micro;
  return (
    <Stack gap="sm" data-compared={run.request_id}>
      {output.data?.media.map((medium) => (
        <div key={medium.url}>
          <Shown medium={medium} />
          <Group justify="space-between" mt={4}>
            <Note className="number">
              {medium.width ? `${medium.width} × ${medium.height}` : ''}
            </Note>
            <DownloadLink medium={medium} />
          </Group>
        </div>
      ))}
      {output.data?.media.length === 0 && <Words fields={output.data.fields} />}
      <Table layout="fixed" fz="sm">
        <Table.Tbody>
          <Table.Tr>
            <Table.Th fw={500}>{t('common:charged')}</Table.Th>
            <Table.Td>
              <Usd micro={charged} />
            </Table.Td>
          </Table.Tr>
          {names.map((name) => (
            <Table.Tr
              key={name}
              bg={isOwn(name) ? 'var(--mantine-primary-color-light)' : undefined}
            >
              <Table.Th fw={500}>{t(`field.${name}`, { defaultValue: name })}</Table.Th>
              <Table.Td className="wrap">{inShort(input[name])}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function inShort(value: unknown): string {
  if (value === undefined) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
