import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** A link within a row. */
export function PlainLink({ to, fw, children }: { to: string; fw?: number; children: ReactNode }) {
  return (
    <Anchor component={Link} to={to} fz="sm" {...(fw !== undefined && { fw })} className="wrap">
      {children}
    </Anchor>
  );
}

/** A link that names its row. */
export function RowLink(props: { to: string; children: ReactNode }) {
  return <PlainLink {...props} fw={500} />;
}

export function RequestLink({ id, children }: { id: string; children: ReactNode }) {
  return <RowLink to={`/operator/requests/${id}`}>{children}</RowLink>;
}

export function AccountLink({ id, children }: { id: string; children: ReactNode }) {
  return <PlainLink to={`/operator/accounts/${id}`}>{children}</PlainLink>;
}
