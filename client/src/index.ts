export { Farebox } from './farebox.ts';
export type {
  FareboxOptions,
  Input,
  PageFilter,
  RequestFilter,
  RequestPage,
  UsageFilter,
  RefusalFilter,
  RefusalPage,
  UsagePage,
  RunOptions,
  SubmitOptions,
} from './farebox.ts';
export type { Chat, ChatOptions } from './chat.ts';
export type { DownloadOptions } from './download.ts';
export { FareboxError } from './error.ts';
export type { ClientCode, ErrorDetails } from './error.ts';
export type { CancelOptions, CompletedCard, Job, Result, StatusOptions } from './job.ts';
export type { KeyFilter, Keys, KeySettings } from './keys.ts';
export { file, LocalFile } from './media.ts';
export type { ByteStream, Media, Progress, UploadOptions } from './media.ts';
export { formatUsd, parseUsd } from './money.ts';
export type { Call, Retry } from './transport.ts';
export type * from './types.ts';
export { isFinal } from './watch.ts';
export { verifyWebhook } from './webhook.ts';
export type { WebhookInput } from './webhook.ts';
