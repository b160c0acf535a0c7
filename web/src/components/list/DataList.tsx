import { Box, Card, Group, Skeleton, Stack, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useIsNarrow } from '../narrow.ts';
import { Dimmed } from '../styles.ts';
import { Usd, When } from '../text.tsx';
import { useTranslation } from '../../i18n.ts';

/** A column of a list. The first column names the row. */
export interface Column<Row> {
  /** Null for the column of actions. */
  label: string | null;
  cell: (row: Row) => ReactNode;
  number?: boolean;
}

export interface DataListProps<Row> {
  label: string;
  columns: Column<Row>[];
  keyOf: (row: Row) => string;
  /** Opens the row that is clicked; a link in its first cell does the same for keyboards. */
  open?: (row: Row) => void;
  /** The content of its card on narrow screens; left out: its cells. */
  card?: (row: Row) => ReactNode;
}

/** A table; on narrow screens, one card per row. */
export function DataList<Row>(
  props: DataListProps<Row> & {
    /** Undefined while loading. */
    rows: Row[] | undefined;
    /** True for many short rows, which are easier to read in a scrolling table than as cards. */
    asTable?: boolean;
  },
) {
  const isNarrow = useIsNarrow();
  const { rows, label } = props;
  if (rows === undefined) {
    return (
      <Stack gap="xs" aria-busy="true" aria-label={label} role="status">
        {[1, 2, 3, 4, 5, 6].map((n) => (
          <Skeleton key={n} h={isNarrow ? 96 : 40} />
        ))}
      </Stack>
    );
  }
  const ListedRows = isNarrow && !props.asTable ? Cards : Lines;
  return <ListedRows {...props} rows={rows} />;
}

type ListedRows<Row> = DataListProps<Row> & { rows: Row[] };

function Lines<Row>({ label, columns, rows, keyOf, open }: ListedRows<Row>) {
  const { t } = useTranslation('common');
  return (
    <Box role="region" aria-label={label} tabIndex={0} style={{ overflowX: 'auto' }}>
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ label: head, number }) => (
              <Table.Th
                key={head}
                ta={number ? 'right' : undefined}
                style={{ whiteSpace: 'nowrap' }}
              >
                {head ?? <VisuallyHidden>{t('actions')}</VisuallyHidden>}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr
              key={keyOf(row)}
              {...(open && { style: { cursor: 'pointer' } })}
              onClick={({ target }) => {
                if (!(target instanceof Element && target.closest('a, button'))) open?.(row);
              }}
            >
              {columns.map(({ label: head, cell, number }) => (
                <Table.Td key={head} ta={number ? 'right' : undefined}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Cards<Row>({ label, columns, rows, keyOf, card }: ListedRows<Row>) {
  return (
    <Stack gap="sm" component="ul" role="list" p={0} m={0} aria-label={label}>
      {rows.map((row) => (
        <Card key={keyOf(row)} component="li" withBorder p={card ? 'sm' : 'md'} pos="relative">
          {card ? card(row) : <Cells columns={columns} row={row} />}
        </Card>
      ))}
    </Stack>
  );
}

function Cells<Row>({ columns: [title, ...rest], row }: { columns: Column<Row>[]; row: Row }) {
  return (
    <>
      <Box fw={600} mb={6} className="wrap">
        {title!.cell(row)}
      </Box>
      <Stack gap={4}>
        {rest.map(({ label: head, cell }) => {
          const content = cell(row);
          if (content === null || content === undefined || content === false) return null;
          if (head === null) return <Box key={head}>{content}</Box>;
          return (
            <Group key={head} justify="space-between" gap="md" wrap="nowrap" align="baseline">
              <Dimmed style={{ flexShrink: 0 }}>{head}</Dimmed>
              <Box fz="sm" ta="right" style={{ overflowWrap: 'anywhere', minWidth: 0 }}>
                {content}
              </Box>
            </Group>
          );
        })}
      </Stack>
    </>
  );
}

/** Makes the columns of a list; all but the plain ones are right-aligned, so that digits line up. */
export const column = {
  plain: <Row,>(label: string, cell: Column<Row>['cell']): Column<Row> => ({ label, cell }),
  figure,
  usd: <Row,>(label: string, micro: (row: Row) => string) =>
    figure<Row>(label, (row) => <Usd micro={micro(row)} />),
  count: <Row,>(label: string, count: (row: Row) => number) =>
    figure<Row>(label, (row) => <span className="number">{count(row)}</span>),
  /** `brief` shows the date only. */
  when: <Row,>(label: string, at: (row: Row) => string, brief = false) =>
    figure<Row>(label, (row) => <When at={at(row)} brief={brief} />),
  /** The buttons of each row. */
  actions: <Row,>(cell: Column<Row>['cell']) => figure<Row>(null, cell),
};

function figure<Row>(label: string | null, cell: Column<Row>['cell']): Column<Row> {
  return { label, cell, number: true };
}
