import { Alert, Box, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconRefresh } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { Dimmed, Note } from '../../components/styles.ts';
import { Copy } from '../../components/Copy.tsx';
import { Usd } from '../../components/text.tsx';
import classes from './Chat.module.css';
import type { Message } from './conversations.ts';
import { isUnsettled } from './talk.ts';
import { useTranslation } from '../../i18n.ts';

const Markdown = lazy(() => import('./Markdown.tsx'));

/** A reply with its cost. */
export function ReplyView(props: {
  message: Message;
  modelName: string;
  isWriting: boolean;
  onAgain: (() => void) | null;
}) {
  const { message, modelName, isWriting, onAgain } = props;
  const { t } = useTranslation('chat');
  const { content, reasoning, failure, stopped, cost_usd_micro, tokens } = message;
  const ended = failure !== undefined || stopped === true;
  return (
    <Stack gap={6} component="article" aria-label={modelName} data-writing={isWriting || undefined}>
      <Text size="sm" fw={600}>
        {modelName}
      </Text>
      {reasoning && (
        <details>
          <summary>{t('reasoning')}</summary>
          <Dimmed style={{ whiteSpace: 'pre-wrap' }}>{reasoning}</Dimmed>
        </details>
      )}
      <Box>
        <Suspense fallback={<div style={{ whiteSpace: 'pre-wrap' }}>{content}</div>}>
          <Markdown text={content} isWriting={isWriting} />
        </Suspense>
        {isWriting && <span className={classes.caret} aria-hidden />}
      </Box>
      {failure !== undefined && (
        <Alert color="red" icon={<IconAlertTriangle />} title={t('common:went_wrong')} role="alert">
          <Text size="sm">{failure}</Text>
        </Alert>
      )}
      {!isWriting && (
        <Group gap="xs">
          {cost_usd_micro !== undefined && (
            <Note data-cost={cost_usd_micro}>
              {ended && cost_usd_micro === '0' ? t('free') : <Usd micro={cost_usd_micro} />}
            </Note>
          )}
          {ended && isUnsettled(message) && <Note>{t('unsettled')}</Note>}
          {tokens && (
            <Note className="number">
              {t('tokens', { prompt: tokens.prompt, completion: tokens.completion })}
            </Note>
          )}
          {stopped && <Note>{t('stopped')}</Note>}
          {content !== '' && <Copy text={content} what={t('reply')} />}
          {onAgain && (
            <Button
              variant="subtle"
              color="gray"
              size="compact-xs"
              leftSection={<IconRefresh size={14} />}
              onClick={onAgain}
            >
              {failure !== undefined ? t('common:retry') : t('another')}
            </Button>
          )}
        </Group>
      )}
    </Stack>
  );
}
