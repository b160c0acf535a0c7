import { Box, Button, Container } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Empty } from '../list/Empty.tsx';

/** The text for a missing page, as a whole page. */
export function NotFound() {
  return (
    <Box component="main">
      <NothingHere />
    </Box>
  );
}
import { useTranslation } from '../../i18n.ts';

/** The text for a missing page, inside the frame of the pages. */
export function NothingHere() {
  const { t } = useTranslation('common');
  return (
    <Container pt={60}>
      <Empty
        order={1}
        icon={<IconMapQuestion />}
        title={t('not_found.title')}
        text={t('not_found.text')}
      >
        <Button component={Link} to="/dashboard">
          {t('not_found.home')}
        </Button>
      </Empty>
    </Container>
  );
}
