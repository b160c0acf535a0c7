import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed, Note } from '../components/styles.ts';

/** A figure of a card, with its name and a note. */
export function Figure(props: { label: string; children: ReactNode; note?: ReactNode }) {
  return (
    <Box style={{ minWidth: 0 }}>
      <Dimmed>{props.label}</Dimmed>
      <Text component="div" fz={18} fw={600} className="number">
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
