import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed, Note } from '../components/styles.ts';

/** A figure with its name and a note. Those of one row that differ in size stand on one line. */
export function Figure(props: {
  label: string;
  children: ReactNode;
  note?: ReactNode;
  fz?: 20 | 28;
}) {
  const { fz } = props;
  return (
    <Box style={{ minWidth: 0 }}>
      <Dimmed>{props.label}</Dimmed>
      <Text component="div" fz={fz ?? 18} {...(fz && { lh: '36px' })} fw={600} className="number">
        {props.children}
      </Text>
      {props.note && (
        <Note component="div" lh={1.45}>
          {props.note}
        </Note>
      )}
    </Box>
  );
}
