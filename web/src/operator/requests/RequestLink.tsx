import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** A link to a request's page, for lists. */
export function RequestLink({ id, children }: { id: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to={`/operator/requests/${id}`} fz="sm" fw={550} className="wrap">
      {children}
    </Anchor>
  );
}
