import {
  isTooMuch,
  mediaInputsMax,
  mediaRule,
  noteMedia,
  sampleForm,
  type MediaInputs,
} from '../catalog/media-input.ts';
import type { Modality } from '../catalog/catalog.ts';
import type { ApiError } from '../errors.ts';
import { parseFileId } from '../request/id.ts';
import { badMessages } from './chat-messages.ts';
import type { Conversation, Media, MediaBlock } from './conversation.ts';

/** The caller's field with the list of what was said. */
export function listOf({ api }: Pick<Conversation, 'api'>): 'messages' | 'input' {
  return api === 'responses' ? 'input' : 'messages';
}

/** For an upstream that takes no conversation in which nobody says anything. */
export function saysNothing(conversation: Pick<Conversation, 'api'>): ApiError {
  return badMessages(listOf(conversation), 'must have a text that is not empty');
}

/** The media in a conversation, also those in results of tools. */
export function mediaBlocks({ turns }: Pick<Conversation, 'turns'>): MediaBlock[] {
  return turns
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.type === 'result' ? block.blocks : [block]))
    .filter((block) => isMedia(block));
}

const isMedia = (block: { type: string }): block is MediaBlock =>
  ['image', 'audio', 'file'].includes(block.type);

/**
 * The files and addresses that a conversation names, with the caller's paths.
 *
 * @throws ApiError `bad_messages`
 */
export function chatMedia(conversation: Pick<Conversation, 'turns' | 'api'>): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  for (const { type, media } of mediaBlocks(conversation)) {
    note(media, found, type === 'image');
    if (isTooMuch(found)) throw tooManyMedia(listOf(conversation));
  }
  return found;
}

export function tooManyMedia(list: 'messages' | 'input'): ApiError {
  return badMessages(list, `have more than ${mediaInputsMax} files and addresses`, {
    reason: 'media_too_many',
    limit: mediaInputsMax,
  });
}

function note({ from, type, value, at }: Media, found: MediaInputs, isImage: boolean): void {
  if (from === 'base64') {
    // The upstream would bill other data by its real type, not as an image.
    if (isImage && type?.startsWith('image/') === false)
      throw badMessages(at, 'must be an address, a file_id, or data of an image (data:image/…)');
    return;
  }
  if (at.endsWith('file_id') && parseFileId(value) === null)
    throw badMessages(at, 'must be a file_id of POST /files');
  // Samples work only in the queue, where the sandbox makes the file; a chat model would get just
  // the name.
  if (sampleForm.test(value) || !noteMedia(value, at, found)) {
    const rule = mediaRule(value);
    throw badMessages(at, isImage ? rule : `${rule}, or base64`);
  }
}

type Taking = { id: string; input_modalities?: readonly Modality[] };
const namedMax = 3;

/**
 * Refuses media that the model's price does not cover, and names the models of `others` that take
 * them.
 *
 * @throws ApiError `bad_messages`
 */
export function demandModalities(
  conversation: Pick<Conversation, 'turns'>,
  { id, input_modalities }: Required<Taking>,
  others: Iterable<Taking> = [],
): void {
  const block = mediaBlocks(conversation).find(({ type }) => !input_modalities.includes(type));
  if (block === undefined) return;
  const { type: wanted } = block;
  const taken = input_modalities.join(', ');
  const taking = [...others].filter((each) => each.input_modalities?.includes(wanted));
  const named = taking.slice(0, namedMax).map((each) => each.id);
  const wrong = `has the modality ${wanted}, which ${id} does not take; it takes ${taken}`;
  const where =
    named.length === 0 ? 'No model takes it' : `Models that take it: ${named.join(', ')}`;
  throw badMessages(block.at, `${wrong}. ${where}`, { one_of: input_modalities });
}
