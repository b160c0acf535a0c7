import { Group, NavLink, ScrollArea, Text } from '@mantine/core';
import { IconPhotoOff } from '@tabler/icons-react';
import { QueryLink } from '../../address.ts';
import { Modal } from '../../components/Dialog.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { addressOf, filterModels, modelsThatTake } from '../models.ts';
import { useModels } from '../price.ts';
import { Rate } from '../form/Rate.tsx';
import { shownAs } from './runs.ts';
import { useTranslation } from '../../i18n.ts';

/** Models that accept this output as an input. */
export default function UseAsInput(props: {
  request_id: string;
  index: number;
  medium: { content_type: string };
  onClose: () => void;
}) {
  const { request_id, index, medium, onClose } = props;
  const { t } = useTranslation('studio');
  const models = useModels().data ?? [];
  const kind = shownAs(medium);
  const fitting = kind === null ? [] : filterModels(modelsThatTake(models, kind), {});
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('use_in')}
      size="md"
      scrollAreaComponent={ScrollArea.Autosize}
    >
      {fitting.length === 0 && (
        <Empty icon={<IconPhotoOff />} title={t('use_none_title')} text={t('use_none_text')} />
      )}
      <nav aria-label={t('use_in')}>
        {fitting.map((model) => (
          <NavLink
            key={model.id}
            component={QueryLink}
            to={addressOf(model)}
            search={{ use: `${request_id}.${index}` }}
            onClick={onClose}
            label={model.name}
            description={
              <Group gap={8} component="span">
                <Text span size="xs">
                  {t(`task.${model.task}`, { defaultValue: model.task })}
                </Text>
              </Group>
            }
            rightSection={<Rate model={model} />}
            style={{ borderRadius: 8 }}
          />
        ))}
      </nav>
    </Modal>
  );
}
