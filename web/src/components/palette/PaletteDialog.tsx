import { CloseButton, Highlight, Input, Modal, Text, VisuallyHidden } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useId, useState, type KeyboardEvent } from 'react';
import { useFocusBack } from '../Dialog.tsx';
import classes from './Palette.module.css';
import { keepRecent, type Offer, type OfferGroup } from './palette-find.ts';
import { useOffers, type PaletteFacts } from './palette-offers.tsx';
import { useTranslation } from '../../i18n.ts';

/**
 * Finds any page, model, request or action by name. The field keeps the focus; arrow keys choose.
 */
export default function PaletteDialog(
  props: PaletteFacts & { opened: boolean; onClose: () => void },
) {
  const { me, sections, opened, onClose } = props;
  const { t } = useTranslation('palette');
  useFocusBack(opened);
  return (
    <Modal.Root
      opened={opened}
      onClose={onClose}
      returnFocus={false}
      size={600}
      yOffset="10dvh"
      zIndex={400}
    >
      <Modal.Overlay />
      <Modal.Content aria-label={t('title')}>
        <Chooser me={me} sections={sections} onClose={onClose} />
      </Modal.Content>
    </Modal.Root>
  );
}

function Chooser({ onClose, ...known }: PaletteFacts & { onClose: () => void }) {
  const { me } = known;
  const { t } = useTranslation('palette');
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const { groups, searching } = useOffers(known, typed);
  const offers = groups.flatMap((group) => group.offers);
  const chosen = Math.min(at, offers.length - 1);
  const choose = (offer: Offer) => {
    keepRecent(me.person_id, offer.id);
    onClose();
    offer.run();
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((chosen + step + offers.length) % (offers.length || 1));
    else if (event.key === 'Enter' && offers[chosen]) choose(offers[chosen]);
    else return;
    event.preventDefault();
  };
  const optionId = (offer: Offer) => `${id}-${offers.indexOf(offer)}`;
  const said = searching && offers.length === 0 ? t('searching') : t('common:nothing_found');
  return (
    <div className={classes.dialog}>
      <Input
        size="lg"
        variant="unstyled"
        className={classes.field ?? ''}
        role="combobox"
        aria-label={t('title')}
        aria-expanded
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen < 0 ? undefined : `${id}-${chosen}`}
        placeholder={t(me.is_operator ? 'hint_operator' : 'hint')}
        autoComplete="off"
        spellCheck={false}
        enterKeyHint="go"
        data-autofocus
        leftSection={<IconSearch size={18} />}
        rightSection={<CloseButton aria-label={t('common:close')} onClick={onClose} />}
        rightSectionPointerEvents="all"
        value={typed}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t('title')} className={classes.list}>
        {groups.map((group) => (
          <Offers
            key={group.name}
            group={group}
            typed={typed}
            chosen={offers[chosen]}
            idOf={optionId}
            onChoose={choose}
          />
        ))}
      </div>
      {offers.length === 0 && (
        <Text c="dimmed" ta="center" py="lg">
          {said}
        </Text>
      )}
      <VisuallyHidden role="status">
        {offers.length === 0 ? said : typed && t('found', { count: offers.length })}
      </VisuallyHidden>
    </div>
  );
}

function Offers(props: {
  group: OfferGroup;
  typed: string;
  chosen: Offer | undefined;
  idOf: (offer: Offer) => string;
  onChoose: (offer: Offer) => void;
}) {
  const { group, typed, chosen, idOf, onChoose } = props;
  const words = typed.trim().split(/\s+/);
  return (
    <div role="group" aria-label={group.name}>
      <div className={classes.group} aria-hidden>
        {group.name}
      </div>
      {group.offers.map((offer) => (
        <Option
          key={offer.id}
          id={idOf(offer)}
          offer={offer}
          words={words}
          isChosen={offer === chosen}
          onChoose={onChoose}
        />
      ))}
    </div>
  );
}

function Option(props: {
  id: string;
  offer: Offer;
  words: string[];
  isChosen: boolean;
  onChoose: (offer: Offer) => void;
}) {
  const { id, offer, words, isChosen, onChoose } = props;
  useEffect(() => {
    if (isChosen) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
  }, [isChosen, id]);
  return (
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      className={classes.offer}
      // Keeps the focus in the field.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoose(offer)}
    >
      {offer.icon}
      <span className={classes.texts}>
        <Highlight component="span" highlight={words} className={classes.label ?? ''}>
          {offer.label}
        </Highlight>
        {offer.note !== undefined && (
          <Highlight component="span" highlight={words} className={classes.note ?? ''}>
            {offer.note}
          </Highlight>
        )}
      </span>
    </div>
  );
}
