import { Table } from '@mantine/core';
import { Fragment } from 'react';
import { useLocale } from '../text.tsx';
import { type ChartProps, sumOf, valueOf } from './values.tsx';
import { useTranslation } from '../../i18n.ts';

/** The values of a chart as a table: the last column of the chart first, empty ones left out. */
export function ChartTable(props: ChartProps & { isHidden?: boolean }) {
  const { label, columns, isHidden = false, series, counts = [], before } = props;
  const lists = [...series, ...counts, ...(before ? [before] : [])];
  const used = columns.flatMap((_, i) =>
    lists.some(({ values }) => (values[i] ?? 0) !== 0) ? [i] : [],
  );
  const table = <Cells {...props} rows={used.toReversed()} />;
  if (isHidden) return table;
  return (
    <Table.ScrollContainer
      type="native"
      minWidth={100 + lists.length * 80}
      maxHeight={420}
      tabIndex={0}
      role="region"
      data-matrix
      aria-label={label}
    >
      {table}
    </Table.ScrollContainer>
  );
}

function Cells(props: ChartProps & { rows: number[]; isHidden?: boolean }) {
  const { label, columns, columnsName, series, before, counts = [], rows, format } = props;
  const { t } = useTranslation('common');
  const number = new Intl.NumberFormat(useLocale());
  const isSum = props.shape !== 'lines';
  const sums = columns.map((_, i) => sumOf(series.map(({ values }) => values[i] ?? 0)));
  const shown = [
    ...series.map(({ name, values }) => ({ name, values, isCount: false })),
    ...(isSum && series.length > 1 ? [{ name: t('total'), values: sums, isCount: false }] : []),
    ...(before ? [{ ...before, isCount: false }] : []),
    ...counts.map((count) => ({ ...count, isCount: true })),
  ];
  const cell = (value: number | null, isCount: boolean) =>
    isCount ? <span className="number">{number.format(value ?? 0)}</span> : valueOf(value, format);
  return (
    <Table verticalSpacing={6} highlightOnHover stickyHeader={!props.isHidden} aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{columnsName}</Table.Th>
          {shown.map(({ name }) => (
            <Table.Th key={name} ta="right">
              <Breakable text={name} />
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((i) => (
          <Table.Tr key={i}>
            <Table.Th scope="row" fw={500} className="number">
              {columns[i]!.long}
            </Table.Th>
            {shown.map(({ name, values, isCount }) => (
              <Table.Td key={name} ta="right">
                {cell(values[i] ?? null, isCount)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
      {isSum && (
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th scope="row">{t('total')}</Table.Th>
            {shown.map(({ name, values, isCount }) => (
              <Table.Th key={name} ta="right">
                {cell(sumOf(values), isCount)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Tfoot>
      )}
    </Table>
  );
}

/** Lets a model's name wrap after a slash. */
function Breakable({ text }: { text: string }) {
  const parts = text.split('/');
  return parts.map((part, i) => (
    <Fragment key={i}>
      {part}
      {i < parts.length - 1 && (
        <>
          /<wbr />
        </>
      )}
    </Fragment>
  ));
}
