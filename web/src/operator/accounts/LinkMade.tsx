import { Modal } from '../../components/Dialog.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';

/** A link that was made for somebody, to be handed over: it is shown once. */
export function LinkMade(props: {
  title: string;
  /** Over the link, and what it is for. */
  once: string;
  text: string;
  link: string;
  what: string;
  onClose: () => void;
}) {
  const { title, once, text, link, what, onClose } = props;
  return (
    <Modal opened onClose={onClose} title={title}>
      <ShownOnce title={once} text={text} secret={link} what={what} />
    </Modal>
  );
}
