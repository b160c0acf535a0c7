import './receipt/receipt-texts.ts';
import { Anchor, Group, Text } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { Copy } from './Copy.tsx';
import { useTranslation } from '../i18n.ts';

/** The hash of a transaction, with a link to the explorer; shortened unless it is `whole`. */
export function Transaction(props: {
  of: { tx_hash: string; explorer_url: string | null };
  whole?: boolean;
}) {
  const { t } = useTranslation('receipt');
  const { tx_hash, explorer_url } = props.of;
  const shown = props.whole ? tx_hash : `${tx_hash.slice(0, 10)}…${tx_hash.slice(-8)}`;
  const wraps = props.whole ? 'wrap' : 'number';
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex">
      {explorer_url === null ? (
        <Text span size="xs" ff="monospace" className={wraps}>
          {shown}
        </Text>
      ) : (
        <Anchor
          href={explorer_url}
          target="_blank"
          rel="noreferrer"
          size="xs"
          ff="monospace"
          className={wraps}
          title={t('explorer')}
        >
          {shown} <IconExternalLink size={13} className="no-print" />
        </Anchor>
      )}
      <span className="no-print">
        <Copy text={tx_hash} what={t('common:transaction')} />
      </span>
    </Group>
  );
}
