import { Table } from '@mantine/core';
import { Fragment } from 'react';
import { useTranslation } from '../../i18n.ts';
import { Usd } from '../../components/text.tsx';
import type { Day, Series } from './overview-data.ts';

/** Spend per day as a table. */
export default function SpendTable(props: {
  days: Day[];
  series: Series[];
  total: bigint;
  nameOf: (series: Series) => string;
  dayOf: (day: string, long?: boolean) => string;
}) {
  const { t } = useTranslation('overview');
  const { days, series, total, nameOf, dayOf } = props;
  const used = days.filter(({ requests }) => requests > 0).toReversed();
  const requests = days.reduce((sum, day) => sum + day.requests, 0);
  return (
    <Table.ScrollContainer
      type="native"
      minWidth={260 + series.length * 120}
      maxHeight={420}
      tabIndex={0}
      role="region"
      aria-label={t('spend')}
    >
      <Table verticalSpacing={6} highlightOnHover stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('day')}</Table.Th>
            {series.map((each) => (
              <Table.Th key={each.name} ta="right">
                <Breakable text={nameOf(each)} />
              </Table.Th>
            ))}
            <Table.Th ta="right">{t('total')}</Table.Th>
            <Table.Th ta="right">{t('common:nav.requests')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {used.map((day) => (
            <Table.Tr key={day.day}>
              <Table.Th scope="row" fw={500} className="number">
                {dayOf(day.day, true)}
              </Table.Th>
              {day.parts.map((part, i) => (
                <Table.Td key={series[i]!.name} ta="right" c={part === 0n ? 'dimmed' : undefined}>
                  <Usd micro={part} />
                </Table.Td>
              ))}
              <Table.Td ta="right" fw={600}>
                <Usd micro={day.total} />
              </Table.Td>
              <Table.Td ta="right" className="number">
                {day.requests}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th scope="row">{t('total')}</Table.Th>
            {series.map((each) => (
              <Table.Th key={each.name} ta="right">
                <Usd micro={each.total} />
              </Table.Th>
            ))}
            <Table.Th ta="right">
              <Usd micro={total} />
            </Table.Th>
            <Table.Th ta="right" className="number">
              {requests}
            </Table.Th>
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Lets a model's name wrap after a slash. */
function Breakable({ text }: { text: string }) {
  const parts = text.split('/');
  return parts.map((part, i) =>
    i === parts.length - 1 ? (
      part
    ) : (
      <Fragment key={i}>
        {part}/<wbr />
      </Fragment>
    ),
  );
}
