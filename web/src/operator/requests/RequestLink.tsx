import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** To the page of one request, wherever a list names it. */
export function RequestLink({ id, children }: { id: string; children: ReactNode }) {
  return (
    <Anchor
      component={Link}
      to={`/operator/requests/${id}`}
      fz="sm"
      fw={550}
      style={{ overflowWrap: 'anywhere' }}
    >
      {children}
    </Anchor>
  );
}
