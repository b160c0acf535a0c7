import { Anchor, Box, Button, Code, Group, Stack, Text, Textarea } from '@mantine/core';
import { Fragment, useState } from 'react';
import type { OperatorSetting } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { ForeignChange, Form, isSame, useDraft } from '../../components/Form.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import { Dimmed, Heading } from '../../components/styles.ts';
import { useOperatorQuery } from '../../queries.ts';
import { useAction } from '../action.ts';
import { useRightProps } from '../rights.ts';
import { useAddress } from '../search.ts';
import { useTranslation } from '../../i18n.ts';
import { IconAdjustments } from '@tabler/icons-react';
import './settings-texts.ts';

/** The text above all pages, and the settings with which the service was started. */
export function Settings() {
  const { t } = useTranslation('operator_settings');
  return (
    <>
      <PageTitle title={t('common:nav.service_settings')} />
      <Stack gap="xl">
        <BannerPart />
        <SettingList />
      </Stack>
    </>
  );
}

function BannerPart() {
  const { t } = useTranslation('operator_settings');
  const { data, error, refetch } = useOperatorQuery('GET /banner', {});
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  return (
    <Box component="section" maw={640} mih={330}>
      <Heading mb={4}>{t('banner')}</Heading>
      <Dimmed mb="sm">{t('banner_text')}</Dimmed>
      {data && <BannerForm of={data.banner} reload={refetch} />}
    </Box>
  );
}

type BannerText = { en: string | null; ru: string | null } | null;
const textsOf = (of: BannerText) => ({ en: of?.en ?? '', ru: of?.ru ?? '' });

function BannerForm(props: {
  of: BannerText;
  /** Reads it again. */
  reload: () => Promise<{ data: { banner: BannerText } | undefined }>;
}) {
  const { of, reload } = props;
  const { t } = useTranslation('operator_settings');
  const act = useAction();
  const actions = useRightProps();
  const theirs = textsOf(of);
  const { value, set: setValue, take, isOther } = useDraft(theirs);
  const lacks = actions('catalog');
  const set = async (body: { en: string; ru: string }) => {
    const { data } = await reload();
    // Somebody was faster: theirs is shown first.
    if (data && !isSame(textsOf(data.banner), theirs)) return;
    await act('PUT /banner', { body }, t(body.en || body.ru ? 'banner_set' : 'banner_gone'));
  };
  const field = (name: 'en' | 'ru') => ({
    value: value[name],
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      setValue({ ...value, [name]: currentTarget.value }),
  });
  return (
    <Form
      onSubmit={() => set(value)}
      action={t('show')}
      disabled={lacks.disabled ?? false}
      aside={
        of !== null && (
          <Button variant="default" onClick={() => void set({ en: '', ru: '' })} {...lacks}>
            {t('hide')}
          </Button>
        )
      }
    >
      {isOther && (
        <ForeignChange
          now={[theirs.en, theirs.ru].filter(Boolean).join(' / ') || '—'}
          take={take}
        />
      )}
      <Textarea label={t('in_english')} maxLength={500} autosize minRows={2} {...field('en')} />
      <Textarea label={t('in_russian')} maxLength={500} autosize minRows={2} {...field('ru')} />
      {lacks.title && <Dimmed>{lacks.title}</Dimmed>}
    </Form>
  );
}

function SettingList() {
  const { t } = useTranslation('operator_settings');
  const [{ q = '' }, setAddress] = useAddress('/operator/settings');
  const { data, error, refetch } = useOperatorQuery('GET /settings', {});
  const [all, setAll] = useState(false);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  const found = data?.data.filter(({ name, says }) =>
    `${name} ${says}`.toLowerCase().includes(q.toLowerCase()),
  );
  const given = found?.filter(({ from }) => from !== 'default');
  const rows = all || q !== '' ? found : given;
  const columns: Column<OperatorSetting>[] = [
    column.plain(t('name'), ({ name }) => (
      <Text span ff="monospace" fz={13}>
        <BrokenName name={name} />
      </Text>
    )),
    column.plain(t('value'), (row) => <Value of={row} />),
    column.plain(t('from'), ({ from }) => t(`source.${from}`)),
    column.plain(t('says'), ({ says }) => <Says text={says} />),
  ];
  return (
    <section>
      <Heading mb={4}>{t('settings')}</Heading>
      <Dimmed mb="sm">{t('settings_text')}</Dimmed>
      <Group mb="md" gap="sm">
        <SearchField
          label={t('find')}
          hint={t('find')}
          text={q}
          onChange={(text) => setAddress({ q: text || undefined })}
        />
        <Button variant="default" onClick={() => setAll(!all)} disabled={q !== ''}>
          {all ? t('only_given') : t('show_all', { n: data?.data.length ?? '' })}
        </Button>
      </Group>
      {rows?.length === 0 ? (
        <Empty icon={<IconAdjustments />} title={t('none')} text={t('none_text')} />
      ) : (
        <DataList label={t('settings')} columns={columns} rows={rows} keyOf={({ name }) => name} />
      )}
    </section>
  );
}

/** A name that breaks after an underscore. */
function BrokenName({ name }: { name: string }) {
  return name.split(/(?<=_)/).map((word, i) => (
    <Fragment key={i}>
      {word}
      <wbr />
    </Fragment>
  ));
}

function Value({ of: { value, secret, set } }: { of: OperatorSetting }) {
  const { t } = useTranslation('operator_settings');
  if (secret) return <Text fz="sm">{t(set ? 'secret_set' : 'not_set')}</Text>;
  if (value === null || value === '') return <Dimmed>{t(set ? 'empty' : 'not_set')}</Dimmed>;
  return <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>{value}</Code>;
}

/** Markdown of the documentation: code and links. */
function Says({ text }: { text: string }) {
  const parts = text.split(/(`[^`]*`|\[[^\]]*\]\([^)]*\))/);
  return (
    <Text fz={13} className="wrap" maw={520}>
      {parts.map((part, i) => {
        const [, words, to] = /^\[([^\]]*)\]\(([^)]*)\)$/.exec(part) ?? [];
        if (words !== undefined)
          return (
            <Anchor key={i} fz="inherit" href={`/docs/${to!.replace('.md', '')}`}>
              {words}
            </Anchor>
          );
        return part.startsWith('`') ? <Code key={i}>{part.slice(1, -1)}</Code> : part;
      })}
    </Text>
  );
}
