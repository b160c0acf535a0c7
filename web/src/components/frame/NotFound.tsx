import { Button, Container } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { homeOf, useMe } from '../../session.tsx';
import { ForTheOperator } from '../Failure.tsx';
import { Empty } from '../list/Empty.tsx';
import { useTabTitle } from './PageTitle.tsx';
import { useTranslation } from '../../i18n.ts';

/** The text for a missing page, inside the frame of the pages. */
export function NothingHere({ error }: { error?: Error }) {
  const { t } = useTranslation('common');
  const me = useMe();
  useTabTitle(t('not_found.title'));
  return (
    <Container pt={60}>
      <Empty
        order={1}
        icon={<IconMapQuestion />}
        title={t('not_found.title')}
        text={t('not_found.text')}
      >
        <Button component={Link} to={me ? homeOf(me) : '/sign-in'}>
          {t(me ? 'not_found.home' : 'not_found.sign_in')}
        </Button>
        {error && <ForTheOperator error={error} />}
      </Empty>
    </Container>
  );
}
