import { IconDownload } from '@tabler/icons-react';
import { useTranslation } from '../../i18n.ts';
import { QuietIcon } from '../../components/styles.ts';
import { download } from '../../components/download.ts';
import type { Medium } from './runs.ts';

export function DownloadLink({ medium }: { medium: Medium }) {
  const { t } = useTranslation('studio');
  return (
    <QuietIcon
      component="a"
      href={medium.url}
      download={medium.file_name}
      aria-label={t('download_file', { name: medium.file_name })}
      title={t('common:download')}
      onClick={(event) => download(event, medium)}
    >
      <IconDownload size={18} />
    </QuietIcon>
  );
}
