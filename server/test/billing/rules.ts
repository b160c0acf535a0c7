/**
 * Each vendor's price of a job from its own pages: the rule, its numbers, and where and when they
 * were read. Independent of the catalog's costs, so that a wrong row shows. If this table lacks a
 * model of the catalog, the tests fail.
 */

/** A rule and its numbers. Fields have the vendor's own names. */
export interface VendorRule {
  /** Routes of the catalog: the upstream's name, and the model's name there. */
  of: readonly `${string}: ${string}`[];
  bills: 'image' | 'begun megapixel' | 'output megapixel' | 'second' | 'request' | 'image token';
  /** US dollars for one unit: the first rate whose `when` fits the input. */
  rates: readonly { when?: Readonly<Record<string, unknown>>; usd: number }[];
  /** The vendor's price of a field that is not sent. */
  defaults?: Readonly<Record<string, unknown>>;
  /** Fields that multiply what is billed. */
  counts?: readonly string[];
  /** Where the length comes from: a field, or the file that a field names. */
  seconds?: { field: string } | { file: string } | number;
  /** Seconds are billed in begun blocks of this length. */
  block?: number;
  /** Lengths in seconds that the vendor takes; it refuses others at no cost. */
  takes?: readonly [least: number, most: number];
  /** The field with the file that limits the output's length, whatever was billed. */
  cut_to?: string;
  /** Pixels of one output. Default: 1024 × 1024. */
  size?:
    | { field: string }
    | { sides: readonly [string, string] }
    | { shorter_side: number; of: string }
    | { times: number; of: string };
  makes: 'png' | 'mp4' | 'svg';
  /** Where and when the price was read. */
  read: string;
}

const image = { bills: 'image', makes: 'png' } as const;
const film = { bills: 'second', makes: 'mp4' } as const;
const silentOr = (silent: number, withSound: number) => [
  { when: { generate_audio: 'false' }, usd: silent },
  { usd: withSound },
];
const byField = (field: string, rates: Record<string, number>) =>
  Object.entries(rates).map(([value, usd]) => ({ when: { [field]: value }, usd }));

const falPage = 'fal.ai/models/ID, Pricing, 2026-11-21';
const replicatePage = 'replicate.com/ID, 2026-10-06';
const replicatePrices = 'replicate.com/pricing, 2026-10-07';
const kiePage = 'kie.ai, page of the model: credits at 0.005 USD, 2026';
const wavespeedPage = 'wavespeed.ai, page of the model, 2026';

export const vendorRules: readonly VendorRule[] = [
  // ── fal ─────────────────────────────────────────────────────────────────────────────────────────
  {
    of: ['fal: fal-ai/flux/schnell'],
    bills: 'begun megapixel',
    rates: [{ usd: 0.003 }],
    defaults: { image_size: 'landscape_4_3', num_images: 1 },
    counts: ['num_images'],
    size: { field: 'image_size' },
    makes: 'png',
    read: falPage,
  },
  {
    of: ['fal: fal-ai/flux/dev'],
    bills: 'begun megapixel',
    rates: [{ usd: 0.025 }],
    defaults: { image_size: 'landscape_4_3', num_images: 1 },
    counts: ['num_images'],
    size: { field: 'image_size' },
    makes: 'png',
    read: falPage,
  },
  {
    // Each further megapixel costs half as much; no row asks for one.
    of: ['fal: fal-ai/flux-2-pro'],
    bills: 'begun megapixel',
    rates: [{ usd: 0.03 }],
    defaults: { image_size: 'landscape_4_3' },
    size: { field: 'image_size' },
    makes: 'png',
    read: falPage,
  },
  {
    of: ['fal: fal-ai/nano-banana-2', 'fal: fal-ai/nano-banana-2/edit'],
    ...image,
    // A web search adds 0.015 to each image.
    rates: [
      { when: { enable_web_search: 'true' }, usd: 0.175 },
      ...byField('resolution', { '0.5K': 0.06, '1K': 0.08, '2K': 0.12, '4K': 0.16 }),
    ],
    defaults: { resolution: '1K', enable_web_search: false },
    counts: ['num_images'],
    read: falPage,
  },
  {
    of: ['fal: fal-ai/nano-banana-pro', 'fal: fal-ai/nano-banana-pro/edit'],
    ...image,
    rates: [
      { when: { enable_web_search: 'true' }, usd: 0.315 },
      ...byField('resolution', { '1K': 0.15, '2K': 0.15, '4K': 0.3 }),
    ],
    defaults: { resolution: '1K', enable_web_search: false },
    counts: ['num_images'],
    read: falPage,
  },
  {
    of: [
      'fal: fal-ai/bytedance/seedream/v4/text-to-image',
      'fal: fal-ai/bytedance/seedream/v4/edit',
    ],
    ...image,
    rates: [{ usd: 0.03 }],
    counts: ['num_images', 'max_images'],
    read: falPage,
  },
  {
    of: ['fal: fal-ai/recraft/v3/text-to-image'],
    ...image,
    // Vector styles cost twice as much.
    rates: [
      ...byField('style', { realistic_image: 0.04, digital_illustration: 0.04 }),
      { usd: 0.08 },
    ],
    defaults: { style: 'realistic_image' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/recraft/v4.1/text-to-image'],
    ...image,
    rates: [{ usd: 0.035 }],
    read: falPage,
  },
  {
    of: ['fal: fal-ai/recraft/v4.1/text-to-vector'],
    bills: 'image',
    makes: 'svg',
    rates: [{ usd: 0.08 }],
    read: falPage,
  },
  {
    of: ['fal: fal-ai/flux-pro/kontext'],
    ...image,
    rates: [{ usd: 0.04 }],
    counts: ['num_images'],
    read: falPage,
  },
  {
    // The target is the shorter side.
    of: ['fal: fal-ai/seedvr/upscale/image'],
    bills: 'output megapixel',
    rates: [{ usd: 0.001 }],
    defaults: { upscale_mode: 'factor', target_resolution: '1080p' },
    size: { shorter_side: 2160, of: 'image_url' },
    makes: 'png',
    read: falPage,
  },
  {
    of: [
      'fal: fal-ai/kling-video/v2.5-turbo/pro/text-to-video',
      'fal: fal-ai/kling-video/v2.5-turbo/pro/image-to-video',
    ],
    ...film,
    rates: [{ usd: 0.07 }],
    defaults: { duration: '5' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/kling-video/v2.6/pro/text-to-video'],
    ...film,
    rates: silentOr(0.07, 0.14),
    defaults: { duration: '5' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/veo3.1'],
    ...film,
    rates: [
      { when: { resolution: '4k', generate_audio: 'false' }, usd: 0.4 },
      { when: { resolution: '4k' }, usd: 0.6 },
      ...silentOr(0.2, 0.4),
    ],
    defaults: { duration: '8s', resolution: '720p' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/veo3.1/extend-video'],
    ...film,
    rates: silentOr(0.2, 0.4),
    defaults: { duration: '7s' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/minimax/hailuo-02/pro/text-to-video'],
    bills: 'request',
    makes: 'mp4',
    // 0.08 a second, always six seconds.
    rates: [{ usd: 0.48 }],
    seconds: 6,
    read: falPage,
  },
  {
    of: ['fal: fal-ai/minimax/hailuo-02/standard/image-to-video'],
    ...film,
    rates: byField('resolution', { '512P': 0.017, '768P': 0.045 }),
    defaults: { resolution: '768P', duration: '6' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    of: ['fal: fal-ai/wan-25-preview/text-to-video', 'fal: fal-ai/wan-25-preview/image-to-video'],
    ...film,
    rates: byField('resolution', { '480p': 0.05, '720p': 0.1, '1080p': 0.15 }),
    defaults: { resolution: '1080p', duration: '5' },
    seconds: { field: 'duration' },
    read: falPage,
  },
  {
    // The page does not say whether a begun second counts as a whole one: it does here.
    of: ['fal: fal-ai/bytedance/omnihuman'],
    ...film,
    rates: [{ usd: 0.14 }],
    seconds: { file: 'audio_url' },
    takes: [0, 30],
    block: 1,
    read: falPage,
  },
  {
    of: ['fal: fal-ai/kling-video/lipsync/text-to-video'],
    ...film,
    rates: [{ usd: 0.014 }],
    seconds: { file: 'video_url' },
    takes: [2, 60],
    block: 5,
    read:
      'fal.ai/models/fal-ai/kling-video/lipsync/audio-to-video/llms.txt, 2026-11-22: 0.014 a second ' +
      'of the input video, rounded up to the next 5 seconds: one of 3 seconds is billed as 5',
  },
  {
    // The page says "per second" and not of which length. Here, the requested length, which is
    // never shorter.
    of: ['fal: fal-ai/mmaudio-v2'],
    ...film,
    rates: [{ usd: 0.001 }],
    defaults: { duration: 8 },
    seconds: { field: 'duration' },
    cut_to: 'video_url',
    read: 'fal.ai/models/fal-ai/mmaudio-v2/llms.txt, 2026-11-22',
  },

  // ── Replicate ───────────────────────────────────────────────────────────────────────────────────
  {
    of: ['replicate: black-forest-labs/flux-schnell'],
    ...image,
    rates: [{ usd: 0.003 }],
    counts: ['num_outputs'],
    read: replicatePrices,
  },
  {
    of: ['replicate: black-forest-labs/flux-dev'],
    ...image,
    rates: [{ usd: 0.025 }],
    counts: ['num_outputs'],
    read: replicatePrices,
  },
  {
    of: [
      'replicate: black-forest-labs/flux-1.1-pro',
      'replicate: recraft-ai/recraft-v3',
      'replicate: black-forest-labs/flux-kontext-pro',
    ],
    ...image,
    rates: [{ usd: 0.04 }],
    read: replicatePrices,
  },
  {
    of: ['replicate: black-forest-labs/flux-kontext-max'],
    ...image,
    rates: [{ usd: 0.08 }],
    read: replicatePage,
  },
  {
    of: ['replicate: ideogram-ai/ideogram-v3-quality'],
    ...image,
    rates: [{ usd: 0.09 }],
    read: replicatePrices,
  },
  {
    of: ['replicate: bytedance/seedream-4'],
    ...image,
    rates: [{ usd: 0.03 }],
    counts: ['max_images'],
    read: replicatePage,
  },
  {
    of: ['replicate: google/nano-banana-2'],
    ...image,
    rates: byField('resolution', { '1K': 0.067, '2K': 0.101, '4K': 0.151 }),
    defaults: { resolution: '1K' },
    read: replicatePage,
  },
  {
    of: ['replicate: google/nano-banana-pro'],
    ...image,
    rates: byField('resolution', { '1K': 0.15, '2K': 0.15, '4K': 0.3 }),
    defaults: { resolution: '2K' },
    read: replicatePage,
  },
  {
    of: ['replicate: recraft-ai/recraft-crisp-upscale'],
    ...image,
    rates: [{ usd: 0.006 }],
    read: replicatePage,
  },
  {
    of: ['replicate: kwaivgi/kling-v2.6'],
    ...film,
    rates: silentOr(0.07, 0.14),
    defaults: { duration: 5 },
    seconds: { field: 'duration' },
    read: replicatePage,
  },
  {
    of: ['replicate: kwaivgi/kling-v2.5-turbo-pro'],
    ...film,
    rates: [{ usd: 0.07 }],
    defaults: { duration: 5 },
    seconds: { field: 'duration' },
    read: replicatePage,
  },
  {
    of: ['replicate: bytedance/seedance-1.5-pro'],
    ...film,
    // Twice as much with audio.
    rates: [
      { when: { resolution: '480p', generate_audio: 'false' }, usd: 0.013 },
      { when: { resolution: '720p', generate_audio: 'false' }, usd: 0.026 },
      { when: { resolution: '1080p', generate_audio: 'false' }, usd: 0.06 },
      { usd: 0.12 },
    ],
    defaults: { resolution: '720p', duration: 5 },
    seconds: { field: 'duration' },
    read: replicatePage,
  },
  {
    of: ['replicate: google/veo-3.1'],
    ...film,
    rates: silentOr(0.2, 0.4),
    defaults: { duration: 8 },
    seconds: { field: 'duration' },
    read: replicatePage,
  },
  {
    of: ['replicate: google/veo-3.1-fast'],
    ...film,
    rates: silentOr(0.1, 0.15),
    defaults: { duration: 8 },
    seconds: { field: 'duration' },
    read: replicatePage,
  },
  {
    of: ['replicate: wan-video/wan-2.2-t2v-fast'],
    bills: 'request',
    makes: 'mp4',
    rates: byField('resolution', { '480p': 0.05, '720p': 0.1 }),
    defaults: { resolution: '480p' },
    seconds: 5,
    read: replicatePage,
  },
  {
    of: ['replicate: wan-video/wan-2.2-i2v-fast'],
    bills: 'request',
    makes: 'mp4',
    rates: byField('resolution', { '480p': 0.05, '720p': 0.11 }),
    defaults: { resolution: '480p' },
    seconds: 5,
    read: replicatePage,
  },
  {
    of: ['replicate: kwaivgi/kling-lip-sync'],
    ...film,
    rates: [{ usd: 0.014 }],
    seconds: { file: 'video_url' },
    takes: [2, 10],
    read: replicatePage,
  },

  // ── Kie ─────────────────────────────────────────────────────────────────────────────────────────
  {
    of: ['kie: nano-banana-2'],
    ...image,
    rates: byField('resolution', { '1K': 0.04, '2K': 0.06, '4K': 0.09 }),
    defaults: { resolution: '1K' },
    read: kiePage,
  },
  {
    of: ['kie: nano-banana-pro'],
    ...image,
    rates: byField('resolution', { '1K': 0.09, '2K': 0.09, '4K': 0.12 }),
    defaults: { resolution: '1K' },
    read: kiePage,
  },
  {
    of: ['kie: seedream/4.5-edit'],
    ...image,
    rates: [{ usd: 0.0325 }],
    read: kiePage,
  },
  {
    of: ['kie: bytedance/seedance-2'],
    ...film,
    rates: byField('resolution', { '480p': 0.095, '720p': 0.205 }),
    defaults: { resolution: '720p', duration: 5 },
    seconds: { field: 'duration' },
    read: kiePage,
  },

  // ── WaveSpeed ───────────────────────────────────────────────────────────────────────────────────
  {
    of: ['wavespeed: wavespeed-ai/flux-schnell'],
    ...image,
    rates: [{ usd: 0.003 }],
    counts: ['num_images'],
    read: wavespeedPage,
  },
  {
    of: ['wavespeed: bytedance/seedream-v4', 'wavespeed: bytedance/seedream-v4/edit'],
    ...image,
    rates: [{ usd: 0.027 }],
    read: wavespeedPage,
  },
  {
    of: ['wavespeed: bytedance/seedream-v4.5'],
    ...image,
    rates: [{ usd: 0.04 }],
    read: wavespeedPage,
  },

  {
    of: ['wavespeed: wavespeed-ai/wan-2.2/i2v-480p-ultra-fast'],
    ...film,
    rates: [{ usd: 0.01 }],
    defaults: { duration: 5 },
    seconds: { field: 'duration' },
    read: wavespeedPage,
  },

  // ── OpenAI ──────────────────────────────────────────────────────────────────────────────────────
  {
    of: ['openai: gpt-image-2.5-flare'],
    bills: 'image token',
    // For a token of the image; bill.ts adds the tokens of the prompt.
    rates: [{ usd: 30e-6 }],
    defaults: { quality: 'high', size: '1024x1024', n: 1 },
    counts: ['n'],
    makes: 'png',
    read:
      'developers.openai.com/api/docs/models/gpt-image-2.6-sunburst, the same as 2.5, 2026-11-22: ' +
      'output 30 USD, words in 5 USD per 1M tokens; tokens of a picture: sanand0/blog, 2026-09-26',
  },

  // ── ComfyUI: a rented graphics card at 0.36 USD an hour makes a megapixel a second ───
  ...(['5.', ''] as const).flatMap((node): VendorRule[] => {
    const card = {
      bills: 'output megapixel',
      rates: [{ usd: 0.0001 }],
      makes: 'png',
      read: 'a rented card of 24 GB, 2026',
    } as const;
    // A row names its workflow, the journal the workflow's most costly node.
    const isRow = node === '';
    const count = isRow ? 'num_images' : '5.batch_size';
    return [
      {
        of: [isRow ? 'comfyui: sdxl' : 'comfyui: EmptyLatentImage'],
        ...card,
        counts: [count],
        size: { sides: [`${node}width`, `${node}height`] },
      },
      { of: [isRow ? 'comfyui: sdxl-edit' : 'comfyui: VAEEncode'], ...card },
      {
        of: [isRow ? 'comfyui: upscale-4x' : 'comfyui: ImageUpscaleWithModel'],
        ...card,
        size: { times: 4, of: isRow ? 'image_url' : '1.image' },
      },
    ];
  }),
];
