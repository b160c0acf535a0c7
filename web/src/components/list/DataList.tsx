import { Box, Skeleton, Stack, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useIsNarrowBox } from '../narrow.ts';
import { Note } from '../styles.ts';
import { Usd, When } from '../text.tsx';
import classes from './DataList.module.css';
import { useTranslation } from '../../i18n.ts';

/** A column of a list. The first column names the row. */
export interface Column<Row> {
  /** Null for the column of actions. */
  label: string | null;
  cell: (row: Row) => ReactNode;
  number?: boolean;
  /** A number with many digits: in a narrow place it has as much room as words. */
  isLong?: boolean;
}

export interface DataListProps<Row> {
  label: string;
  columns: Column<Row>[];
  keyOf: (row: Row) => string;
  /** Opens the row that is clicked; a link in its first cell does the same for keyboards. */
  open?: (row: Row) => void;
  /** Its content in a narrow place; left out: its cells. */
  card?: (row: Row) => ReactNode;
  /** The width that all columns need, in pixels; left out: that of usual columns. */
  tableFrom?: number;
}

/** Below this a table of any number of columns becomes rows, in pixels. */
const narrowMin = 480;
/** With more columns than fit, a table becomes rows below this. */
const narrowMax = 760;
const columnWidth = 125;

/** A table; in a narrow place, a list of rows without columns. */
export function DataList<Row>(
  props: DataListProps<Row> & {
    /** Undefined while loading. */
    rows: Row[] | undefined;
    /** True for many short rows, which are easier to read in a table. */
    asTable?: boolean;
  },
) {
  const { rows, label, columns, asTable = false } = props;
  const usual = Math.max(narrowMin, Math.min(narrowMax, columns.length * columnWidth));
  const { ref, isNarrow } = useIsNarrowBox(props.tableFrom ?? usual);
  const ListedRows = isNarrow && !asTable ? Rows : Lines;
  return (
    <div ref={ref} className={classes.place}>
      {rows ? (
        <ListedRows {...props} rows={rows} />
      ) : (
        <Stack gap="xs" aria-busy="true" aria-label={label} role="status">
          {[1, 2, 3, 4, 5, 6].map((n) => (
            <Skeleton key={n} className={classes.waiting} />
          ))}
        </Stack>
      )}
    </div>
  );
}

type ListedRows<Row> = DataListProps<Row> & { rows: Row[] };

function Lines<Row>({ label, columns, rows, keyOf, open }: ListedRows<Row>) {
  const { t } = useTranslation('common');
  return (
    // Positioned, because a hidden text that it does not hold would widen the page.
    <Box
      role="region"
      aria-label={label}
      tabIndex={0}
      className={classes.lines}
      pos="relative"
      style={{ overflowX: 'auto' }}
    >
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

/** One list whose rows have the words of their columns above the values. */
function Rows<Row>({ label, columns, rows, keyOf, card }: ListedRows<Row>) {
  return (
    <ul className={classes.rows} role="list" aria-label={label}>
      {rows.map((row) => (
        <li key={keyOf(row)}>{card ? card(row) : <Cells columns={columns} row={row} />}</li>
      ))}
    </ul>
  );
}

function Cells<Row>({ columns: [title, ...rest], row }: { columns: Column<Row>[]; row: Row }) {
  const cells = rest.flatMap((each) => {
    const content = each.cell(row);
    const isEmpty = content === null || content === undefined || content === false;
    return isEmpty ? [] : [{ ...each, content }];
  });
  return (
    <>
      <div className={classes.head}>
        <Box fw={600} className="wrap">
          {title!.cell(row)}
        </Box>
        {cells.map(({ label, content }) => label === null && <div key="actions">{content}</div>)}
      </div>
      <div className={classes.values}>
        {cells.map(
          ({ label, content, number, isLong }) =>
            label !== null && (
              <div key={label} data-wide={!number || isLong || undefined}>
                <Note>{label}</Note>
                <Box fz="sm" className="wrap">
                  {content}
                </Box>
              </div>
            ),
        )}
      </div>
    </>
  );
}

/** Makes the columns of a list; all but the plain ones are right-aligned, so that digits line up. */
export const column = {
  plain: <Row,>(label: string, cell: Column<Row>['cell']): Column<Row> => ({ label, cell }),
  figure,
  usd: <Row,>(label: string, micro: (row: Row) => string, digits?: 'six') =>
    figure<Row>(label, (row) => <Usd micro={micro(row)} {...(digits && { digits })} />, digits),
  count: <Row,>(label: string, count: (row: Row) => number) =>
    figure<Row>(label, (row) => <span className="number">{count(row)}</span>),
  /** `brief` shows the date only. */
  when: <Row,>(label: string, at: (row: Row) => string, brief = false) =>
    figure<Row>(label, (row) => <When at={at(row)} as={brief ? 'date' : undefined} />),
  /** The buttons of each row. */
  actions: <Row,>(cell: Column<Row>['cell']) => figure<Row>(null, cell),
};

function figure<Row>(label: string | null, cell: Column<Row>['cell'], digits?: 'six'): Column<Row> {
  return { label, cell, number: true, isLong: digits === 'six' };
}
