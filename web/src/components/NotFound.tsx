import { Button, Container } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Empty } from './Empty.tsx';

export function NotFound() {
  const { t } = useTranslation('common');
  return (
    <Container component="main" pt={60}>
      <Empty icon={<IconMapQuestion />} title={t('not_found.title')} text={t('not_found.text')}>
        <Button component={Link} to="/cabinet">
          {t('not_found.home')}
        </Button>
      </Empty>
    </Container>
  );
}
