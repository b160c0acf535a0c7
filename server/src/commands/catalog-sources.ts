import type { Offers } from '../core/catalog/offer.ts';
import type { DefinitionForm, UpstreamSettings } from '../core/catalog/upstream-definition.ts';
import { falOffers } from '../upstreams/fal/offers.ts';
import { openrouterOffers } from '../upstreams/openai/offers.ts';
import { replicateOffers } from '../upstreams/replicate/offers.ts';
import type { UpstreamTools } from '../upstreams/upstream.ts';

/** Which models are asked for. */
export interface Wanted {
  patterns: { text: string; matches: (model: string) => boolean }[];
  /** Where no pattern has a * in it: the names themselves. */
  names: string[] | null;
  matches: (model: string) => boolean;
}

/** An upstream whose own catalog can be read. */
export interface Source {
  /** Used, and written into the file, where no file of the folder defines the upstream. */
  definition: DefinitionForm;
  /** Before its names of models, in ids of rows. */
  prefix: string;
  /** Who tells the prices. */
  says: string;
  /** It tells its models to anybody. */
  isPublic: boolean;
  /** It tells no prices, so that they may be given. */
  takesPrice: boolean;
  /** Why names of models have to be given, where they have to. */
  needsNames: string | null;
  /** For the head of the file. */
  notes: string[];
  read(
    settings: UpstreamSettings,
    tools: UpstreamTools,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Offers>;
}

const closed =
  'Rows are closed (additionalProperties: false): no price covers what other fields ask for.';

export const sources: Readonly<Record<string, Source>> = {
  openrouter: {
    definition: {
      name: 'openrouter',
      adapter: 'openai',
      url: 'https://openrouter.ai/api/v1',
      key_from: 'OPENROUTER_API_KEY',
      secret_from: 'OPENROUTER_WEBHOOK_SECRET',
      concurrency: 50,
      options: { check_path: '/key', videos: 'openrouter' },
    },
    prefix: 'openrouter/',
    says: "OpenRouter's list of models",
    isPublic: true,
    takesPrice: false,
    needsNames: null,
    notes: ['Each reply of OpenRouter tells what it really took.'],
    read: (settings, tools, { matches }, signal) =>
      openrouterOffers(settings, tools, matches, signal),
  },
  fal: {
    definition: {
      name: 'fal',
      adapter: 'fal',
      url: 'https://queue.fal.run',
      url_from: 'FAL_URL',
      key_from: 'FAL_KEY',
      concurrency: 10,
    },
    prefix: '',
    says: "fal's price API",
    isPublic: false,
    takesPrice: false,
    needsNames: null,
    notes: [
      'fal tells one price for each model. Where it takes more for a higher resolution, for sound',
      "or for another mode, the field is left to the model's default: read the model's page before",
      'you offer it. Megapixels are billed whole, so such a row has the sizes of one at most.',
      closed,
    ],
    read: falOffers,
  },
  replicate: {
    definition: {
      name: 'replicate',
      adapter: 'replicate',
      url: 'https://api.replicate.com/v1',
      url_from: 'REPLICATE_URL',
      key_from: 'REPLICATE_API_TOKEN',
      secret_from: 'REPLICATE_WEBHOOK_SECRET',
      concurrency: 20,
    },
    prefix: '',
    says: 'Replicate',
    isPublic: false,
    takesPrice: true,
    needsNames:
      'Replicate tells no prices, so say which models you want: --only owner/name, ' +
      'or a pattern with * for the official ones.',
    notes: [
      'Replicate tells no prices: they stand on the page of each model. Rows without one are',
      'comments: put a price in place of PRICE, and take the # at the beginning of each line away.',
      closed,
    ],
    read: replicateOffers,
  },
};
