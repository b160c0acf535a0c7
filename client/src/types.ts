// Made by `npm run generate` from the schemas of openapi.json.

/** The kind of output. */
export type Kind = 'video' | 'image' | 'text';

export type Model = {
  /** Use it exactly as written here, with its slashes. */
  id: string;
  object: 'model';
  /** When the model was added to the catalog, in unix seconds. */
  created: number;
  /** The owner of the model. */
  owned_by: string;
  /** For people. */
  name: string;
  /** A description for people; may be empty. */
  description: string;
  /** The kind of output. */
  kind: Kind;
  /** The task of the model. */
  task: 'text-to-video' | 'image-to-video' | 'reference-to-video' | 'video-edit' | 'video-extend' | 'video-analyze' | 'video-to-video/edit' | 'character-animation' | 'talking-avatar' | 'lip-sync' | 'video-to-audio' | 'motion-control' | 'reframe' | 'upscale' | 'text-to-image' | 'edit' | 'layer-decomposition' | 'text-to-vector' | 'chat';
  /** US dollars per unit, all-inclusive; the highest rate if rates differ by resolution. For a text model: per 1M tokens in and out. For reading only; POST /estimate gives exact prices. */
  price: number | {
    /** Per 1M prompt tokens. */
    input: number;
    /** Per 1M completion tokens. */
    output: number;
    /** Per 1M prompt tokens read from the model's cache; `input` if missing. */
    cached_input?: number;
    /** Per 1M prompt tokens written to the model's cache; `input` if missing. */
    cache_write?: number;
  };
  /** The unit of the price. `MP` is a megapixel. */
  unit: Unit;
  /** US dollars per unit by resolution; only if they differ. */
  price_by_resolution?: Record<string, number>;
  /** Rules that add to the price of a unit. */
  extras: Array<ModelExtra>;
  /** Longest duration or largest count of one request. 0: no stated maximum. */
  max: number;
  /** The unit of `max`: `seconds` or `images`, for example. */
  max_unit: string;
  /** Values that the input `resolution` may take; may be empty. */
  resolutions: Array<Resolution>;
  /** True: the model has no content filter. */
  uncensored: boolean;
  /** Half of the last finished jobs of the model took less time than this, from the start to the end. Null: none has finished, or the model is a text model. */
  median_seconds: number | null;
  /** `stopped`: the operator has stopped its sale. Requests get 503 `capacity_unavailable` with `details.reason` `stopped`; POST /estimate still prices. */
  status: 'live' | 'stopped';
  /** Only of a stopped model: the operator's words about it; null if there are none. */
  status_note?: string | null;
  /** JSON Schema (2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** An input that works. */
  example: Record<string, unknown>;
  /** Requested and delivered quantities are rounded up to multiples of this. May be missing. */
  step?: number;
  /** If present, the requested quantity is charged, even if less was delivered. */
  charged?: 'asked';
  /** If present, a running job can be cancelled. It then costs nothing (`free`), what the model bills for it (`upstream`), or all that was reserved (`full`). */
  on_cancel?: 'free' | 'upstream' | 'full';
  /** Maximum number of tokens of the field `prompt`; missing if unlimited. */
  max_prompt_tokens?: number;
  /** Text models: maximum number of prompt tokens. */
  context_tokens?: number;
  /** Text models; true or missing. True: a prompt is refused if the upper bound of its tokens, which is also reserved, exceeds `context_tokens`. */
  refuse_longer_prompts?: true;
  /** Text models: maximum number of completion tokens. */
  max_output_tokens?: number;
  /** Text models: tokens that are reserved for one image in the prompt. */
  image_tokens?: number;
  /** Text models: what happens when the caller leaves. `finish`: the reply is read to its end and charged in full. `stop`: the model stops, and what was delivered is charged. */
  on_disconnect?: 'finish' | 'stop';
  /** Text models: what a message may contain. */
  input_modalities?: Array<'text' | 'image' | 'audio' | 'file'>;
};

/** The unit of the price. `MP` is a megapixel. */
export type Unit = 'sec' | 'image' | 'request' | 'MP' | '1M tokens';

/** A rule that adds to the price: for each item of a list, or if a field has a certain value. */
export type ModelExtra = {
  /** The unit that is paid for. */
  label: string;
  /** The input field that decides whether the extra applies. */
  field: string;
  /** US dollars added to the price of one unit; with `per_item`, for each item. */
  add_usd: number;
  /** True: the extra is added for each item of the field. */
  per_item?: boolean;
  /** Number of items that cost nothing extra. */
  free?: number;
  /** The extra is added if the field has this value. */
  equals?: string | number | boolean;
  /** The value assumed for a missing field. */
  default?: string | number | boolean;
};

export type Resolution = '0.5k' | '1k' | '1.5k' | '2k' | '4k' | '480p' | '540p' | '720p' | '768p' | '1080p';

export type Balance = {
  /** The currency of the account. 1 USDT counts as 1 USD, which these fields write as `"1000000"` (micro-USD). */
  currency: 'USDT';
  /** Available to the account; all its keys share it. */
  available_usd_micro: bigint;
  /** Reserved for its open requests; not part of the available amount. */
  reserved_usd_micro: bigint;
  /** The key of this call. A submit must fit into both the balance and the key's limit. */
  key: {
    /** Id of the key of this call; not secret. */
    key_id: string;
    /** The name of the key. */
    name: string;
    /** The key's monthly limit; null: unlimited. */
    limit_usd_micro: bigint | null;
    /** Charged and reserved by the key this month. */
    spent_usd_micro: bigint;
    /** When the month (UTC) ends and the spending counts from 0 again. */
    resets_at: string;
  };
  /** Bonuses that expire, sorted by `expires_at`; they are spent before other money. */
  bonuses: Array<{
    /** The unspent part, which the balance includes. */
    left_usd_micro: bigint;
    /** When the unspent part leaves the balance, except what is reserved. */
    expires_at: string;
  }>;
  /** Where to send USDT; empty if the operator takes no deposits from chains. */
  top_up: Array<TopUpAddress>;
};

export type TopUpAddress = {
  /** Name of the chain. */
  chain: string;
  /** The name that wallets and exchanges show, such as `BNB Chain (BEP20)`. */
  title: string;
  /** Symbol of the token. */
  token: string;
  /** The account's own address. */
  address: string;
  /** Smaller deposits are not credited. */
  minimum_usd_micro: bigint;
};

export type DepositAddressList = { data: Array<DepositAddress> };

export type DepositAddress = {
  /** Name of the chain, such as `tron`. */
  chain: string;
  /** The name that people know, such as `BNB Chain (BEP20)`. */
  title: string;
  /** The form of its addresses. */
  family: 'evm' | 'tron';
  /** Number of the chain; for EVM chains its number in EIP-155. */
  chain_id: number;
  token: {
    /** Symbol of the token, such as `USDT`. */
    symbol: string;
    /** Its contract. Other tokens of that name are not credited. */
    address: string;
    /** Decimals of its amounts on the chain. */
    decimals: number;
  };
  /** The account's own address, for any amount at any time, for ever. */
  address: string;
  /** Smaller deposits are not credited. */
  minimum_usd_micro: bigint;
  /** Credited once the network calls the block final, or after `confirmations` blocks. */
  finality: 'finalized' | 'confirmations';
  /** Blocks on top of it before a deposit is credited. */
  confirmations: number | null;
  /** Usual seconds between two blocks, rounded up. */
  block_seconds: number | null;
  /** Usual time until a deposit is credited. */
  usual_seconds: number | null;
  /** A page that shows the address. */
  explorer_url: string | null;
};

export type DepositList = { data: Array<Deposit>; next_cursor: string | null };

export type Deposit = {
  /** Null until its block is final. */
  deposit_id: string | null;
  /** Name of the chain. */
  chain: string;
  /** Symbol of the token; its contract if the chain is no longer read. */
  token: string;
  /** The address that got it. */
  address: string;
  /** Hash of its transaction, as the explorer writes it: without 0x on TRON. */
  tx_hash: string;
  /** Its place in the transaction's receipt, from 0. */
  log_position: number | null;
  /** Amount of the token with at most six decimals, such as `25.5`. */
  amount: string;
  /** The same amount; 1 USDT counts as 1 USD. */
  amount_usd_micro: bigint;
  /** seen: its block is not final. held: an operator or a second source has to confirm it. ignored: it is not credited. dropped: the network has removed it. */
  state: 'seen' | 'held' | 'credited' | 'ignored' | 'dropped';
  /** Why a deposit is held or ignored. unconfirmed: a second source does not know it yet. review: the operator looks at it. dust: less than the minimum. token: another token. operator: decided by the operator. */
  why: DepositWhy | null;
  /** Blocks on top of it when the chain was last read. */
  confirmations: number;
  /** Blocks that it needs; null: the network says when it is final. */
  required: number | null;
  /** A page that shows the transaction. */
  explorer_url: string | null;
  /** When it was noticed. */
  seen_at: string;
  /** When it was added to the balance. */
  credited_at: string | null;
  /** The id of its transfer on the statement. */
  transfer_id: string | null;
};

/** Why a deposit is held or ignored. unconfirmed: a second source does not know it yet. review: the operator looks at it. dust: less than the minimum. token: another token. operator: decided by the operator. */
export type DepositWhy = 'unconfirmed' | 'review' | 'dust' | 'token' | 'operator';

export type Estimate = {
  /** The requested model. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** Reserved by a submit of this input; the charge is never higher. */
  price_usd_micro: bigint;
  /** The unit of the price. `MP` is a megapixel. */
  unit: Unit;
  /** Price of one unit, extras included; for text the higher rate. */
  unit_price_usd_micro: bigint;
  /** How many units. */
  quantity: number;
  /** The share of the list price that this account pays; missing if it is 1. The rates of the estimate include it already. */
  price_multiplier?: number;
  /** How the price is made up; the amounts add up to it. */
  breakdown: Array<QuoteLine>;
  /** Values assumed for missing fields, by field: the most expensive `resolution`, 5 `duration_seconds`, 1 `num_images`. */
  assumptions: Record<string, unknown>;
  /** Present if `resolution` is missing and decides the price: the price of a unit for each resolution. */
  unit_price_by_resolution_usd_micro?: Record<string, bigint>;
  /** Present if cached prompt tokens have prices of their own: the prices of a million prompt tokens. The highest is reserved; the charge follows what the model reports. */
  input_prices_usd_micro?: {
    /** Tokens that are not in the cache. */
    input: bigint;
    /** Tokens read from the cache. */
    cached_input: bigint;
    /** Tokens written to the cache. */
    cache_write: bigint;
  };
  /** Fields that the model's `input_schema` does not have, at most 20; missing if there are none. They are accepted, but mostly have no effect. */
  unknown_inputs?: Array<UnknownInput>;
};

export type QuoteLine = {
  /** The unit that is paid for. */
  label: string;
  /** How many units. */
  quantity: number;
  /** Price of one unit. */
  unit_price_usd_micro: bigint;
  /** Amount that the line adds to the price. */
  amount_usd_micro: bigint;
};

export type UnknownInput = {
  /** The name of the field as it was sent. */
  field: string;
  /** The field that was likely meant; null if none is similar. For `metadata`, it is the header `x-metadata`. */
  did_you_mean: string | null;
};

/** Fields that are not listed here are left out. `top_k` and the fields after it go only to models that take them. `x-ignored-fields` names the fields that were left out. */
export type ChatInput = {
  /** The id of a text model. */
  model: string;
  /** The conversation, oldest first. */
  messages: Array<ChatMessage>;
  /** Maximum number of completion tokens. Default: 4096. Never more than the model's own maximum. */
  max_tokens?: number | null;
  /** The same as `max_tokens`. */
  max_completion_tokens?: number | null;
  /** Only 1. */
  n?: number | null;
  /** Answer as server-sent events. */
  stream?: boolean | null;
  /** For streams. */
  stream_options?: {
    /** True: one more chunk, with `usage`, comes at the end. */
    include_usage?: boolean | null;
    [field: string]: unknown;
  } | null;
  /** Pairs of texts that are kept with the request; no model gets them. */
  metadata?: Record<string, string> | null;
  temperature?: number | null;
  top_p?: number | null;
  presence_penalty?: number | null;
  frequency_penalty?: number | null;
  seed?: number | null;
  stop?: Array<string> | string | null;
  logit_bias?: Record<string, unknown> | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  response_format?: Record<string, unknown> | null;
  /** `function` and `custom` tools only. */
  tools?: Array<Record<string, unknown>> | null;
  tool_choice?: Record<string, unknown> | string | null;
  parallel_tool_calls?: boolean | null;
  functions?: Array<Record<string, unknown>> | null;
  function_call?: Record<string, unknown> | string | null;
  reasoning_effort?: string | null;
  verbosity?: string | null;
  user?: string | null;
  top_k?: number | null;
  top_a?: number | null;
  min_p?: number | null;
  repetition_penalty?: number | null;
  reasoning?: Record<string, unknown> | null;
  reasoning_format?: string | null;
  include_reasoning?: boolean | null;
  thinking?: Record<string, unknown> | null;
  enable_thinking?: boolean | null;
  thinking_budget?: number | null;
  chat_template_kwargs?: Record<string, unknown> | null;
  prompt_cache_key?: string | null;
  safety_identifier?: string | null;
  [field: string]: unknown;
};

/** Other accepted fields: `name`, `tool_calls`, `tool_call_id`, `function_call`, `refusal`, `reasoning`, `reasoning_content`, `reasoning_details`, `extra_content` and `audio.id`. All others, also in parts, are left out, but `cache_control` reaches some models. */
export type ChatMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  /** A text, or a list of parts: `text`, `refusal`, `image_url`, `input_audio`, `file`. May be missing in a `tool` message, and in an `assistant` message that calls tools. */
  content?: Array<Record<string, unknown>> | string | null;
  [field: string]: unknown;
};

export type Completion = {
  /** `chatcmpl-` and the id of the request. */
  id: string;
  object: 'chat.completion';
  /** Unix seconds. */
  created: number;
  /** The catalog id. */
  model: string;
  /** One. */
  choices: Array<{
    /** 0. */
    index: number;
    message: {
      role: 'assistant';
      /** The reply. */
      content: string | null;
      /** The reason why the model does not answer. */
      refusal?: string | null;
      /** The reasoning; some models send `reasoning_content`. */
      reasoning?: string | null;
      /** The reasoning; some models send `reasoning`. */
      reasoning_content?: string | null;
      /** Tools that the model calls. */
      tool_calls?: Array<ToolCall> | null;
      [field: string]: unknown;
    };
    /** `stop`, `length`, `tool_calls` … */
    finish_reason: string | null;
    /** The text of `stop` that ended the reply, if the model’s server tells it. */
    stop_reason?: string | null;
    [field: string]: unknown;
  }>;
  /** The model's own count if it reports one; otherwise a count of what was delivered. */
  usage: ChatUsage;
  [field: string]: unknown;
};

export type ToolCall = FunctionCall | CustomCall;

export type FunctionCall = {
  /** Id of the tool call; the message with its result repeats it as `tool_call_id`. */
  id: string;
  type: 'function';
  function: {
    /** The tool. */
    name: string;
    /** JSON, as the model wrote it: it may be invalid. */
    arguments: string;
    [field: string]: unknown;
  };
  [field: string]: unknown;
};

export type CustomCall = {
  /** Id of the tool call; the message with its result repeats it as `tool_call_id`. */
  id: string;
  type: 'custom';
  custom: {
    /** The tool. */
    name: string;
    /** The input, as a text. */
    input: string;
    [field: string]: unknown;
  };
  [field: string]: unknown;
};

/** The model's own count if it reports one; otherwise a count of what was delivered. */
export type ChatUsage = {
  /** Tokens read. */
  prompt_tokens: number;
  /** Tokens written. */
  completion_tokens: number;
  /** Tokens read and written. */
  total_tokens: number;
  /** Cost of the call. */
  cost_usd_micro: bigint;
  [field: string]: unknown;
};

export type ChatChunk = {
  /** The same in every chunk. */
  id: string;
  object: 'chat.completion.chunk';
  /** Unix seconds. */
  created: number;
  /** The catalog id. */
  model: string;
  /** Empty in the usage chunk. */
  choices: Array<{
    /** 0. */
    index: number;
    /** The new piece. */
    delta: {
      /** `assistant`, in the first chunk. */
      role?: string;
      /** The next piece of the reply. */
      content?: string | null;
      /** The reason why the model does not answer. */
      refusal?: string | null;
      /** The reasoning; some models send `reasoning_content`. */
      reasoning?: string | null;
      /** The reasoning; some models send `reasoning`. */
      reasoning_content?: string | null;
      /** Pieces of tool calls. */
      tool_calls?: Array<{
        /** Index of the tool call that this piece belongs to. */
        index: number;
        /** In the first piece of a call. */
        id?: string;
        /** `function` or `custom`, in the first piece of a call. */
        type?: string;
        function?: {
          /** In the first piece. */
          name?: string;
          /** The next piece of the JSON. */
          arguments?: string;
          [field: string]: unknown;
        };
        custom?: {
          /** In the first piece. */
          name?: string;
          /** The next piece. */
          input?: string;
          [field: string]: unknown;
        };
        [field: string]: unknown;
      }> | null;
      [field: string]: unknown;
    };
    /** In the last chunk of the text. */
    finish_reason?: string | null;
    /** The text of `stop` that ended the reply, if the model’s server tells it. */
    stop_reason?: string | null;
    [field: string]: unknown;
  }>;
  /** Only if requested: null until the last chunk, which has a `ChatUsage`. */
  usage?: {
    /** Tokens read. */
    prompt_tokens: number;
    /** Tokens written. */
    completion_tokens: number;
    /** Tokens read and written. */
    total_tokens: number;
    /** Cost of the call. */
    cost_usd_micro: bigint;
    [field: string]: unknown;
  } | null;
  [field: string]: unknown;
};

/** The body of an error reply. */
export type ErrorBody = {
  error: {
    /** The error code. Handle codes you do not know by their HTTP status. */
    code: ErrorCode;
    /** For people: what is wrong and what to do next. Its words may change. */
    message: string;
    /** The family of the code. */
    type: ErrorType;
    /** The field, parameter or header at fault. */
    param: string | null;
    /** The `x-request-id` of this call. */
    request_id: string;
    /** Numbers and allowed values; which ones depends on the code. */
    details?: {
      /** Required by the call. */
      required_usd_micro?: bigint;
      /** Available to the account. */
      available_usd_micro?: bigint;
      /** Reserved for its open requests. */
      reserved_usd_micro?: bigint;
      /** The key's monthly limit. */
      limit_usd_micro?: bigint;
      /** Charged and reserved by the key this month. */
      spent_usd_micro?: bigint;
      /** When the month (UTC) ends. */
      resets_at?: string;
      /** Where to send USDT; empty if the operator takes no deposits from chains. */
      top_up?: Array<TopUpAddress>;
      /** All models that the key may use. */
      models?: Array<string>;
      /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
      status?: StatusName;
      /** The reason why an accepted request ended `FAILED`. */
      error?: Failure;
      /** Everything to correct in the input. */
      errors?: Array<{
        /** JSON pointer into the input; empty for the input itself. */
        path: string;
        /** Why this place is invalid. */
        message: string;
      }>;
      /** The most that this call allows. */
      max_bytes?: number;
      /** Jobs the key may have open. */
      open_jobs_limit?: number;
      /** Chat calls that the key, or all keys of the account, may have open at once. */
      open_chats_limit?: number;
      /** Uploads the account may have open at once. */
      open_uploads_limit?: number;
      /** The part that is not ready. */
      failing?: string;
      [field: string]: unknown;
    };
  };
};

/** The error code. Handle codes you do not know by their HTTP status. */
export type ErrorCode = 'bad_request' | 'unknown_model' | 'unpriceable' | 'invalid_input' | 'bad_webhook_url' | 'bad_messages' | 'context_length_exceeded' | 'use_chat_completions' | 'unauthorized' | 'insufficient_balance' | 'key_limit_reached' | 'forbidden' | 'not_found' | 'method_not_allowed' | 'idempotency_conflict' | 'request_not_ready' | 'not_cancellable' | 'expired' | 'payload_too_large' | 'unsupported_media_type' | 'rate_limited' | 'internal_error' | 'submit_failed' | 'capacity_unavailable';

/** The family of the code. */
export type ErrorType = 'invalid_request_error' | 'authentication_error' | 'billing_error' | 'conflict_error' | 'rate_limit_error' | 'server_error' | 'upstream_error';

/** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
export type StatusName = 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

/** The reason why an accepted request ended `FAILED`. */
export type Failure = {
  /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
  code: FailureCode;
  /** For people. */
  message: string;
  details?: {
    /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
    reason: string;
    [field: string]: unknown;
  };
};

/** The reason why an accepted request ended `FAILED`. Nothing was charged. */
export type FailureCode = 'upstream_rejected' | 'upstream_failed' | 'timeout' | 'output_too_large' | 'outcome_unknown' | 'output_unusable';

export type QueuedRequest = {
  status: 'IN_QUEUE';
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The URL to poll. */
  status_url: string;
  /** The URL of the output, once `COMPLETED`. */
  response_url: string;
  /** The URL that cancels it. */
  cancel_url: string;
  /** The model it runs on. */
  model_id: string;
  /** The reserved amount; the charge is never higher. */
  quoted_usd_micro: bigint;
  /** Requests ahead when it was accepted. */
  queue_position: number;
  /** Fields that the model's `input_schema` does not have, at most 20; missing if there are none. They are accepted, but mostly have no effect. */
  unknown_inputs?: Array<UnknownInput>;
};

/** The body of a webhook: the request card without `input`. */
export type WebhookEvent = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: StatusName;
  /** Reserved at submit. */
  quoted_usd_micro: bigint;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: bigint | null;
  price: {
    /** The unit of the price. `MP` is a megapixel. */
    unit: Unit;
    /** Price of one unit. */
    unit_price_usd_micro: bigint;
    /** Units quoted; once `COMPLETED`, units delivered. */
    quantity: number;
  };
  /** The model's own count if it reports one; otherwise a count of what was delivered. */
  usage?: ChatUsage;
  /** The outputs, once `COMPLETED`; empty after they have expired. */
  output_urls: Array<string>;
  /** The reason why it `FAILED`; else null. */
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  /** When the outputs are deleted; null if there are none. */
  expires_at: string | null;
  /** Null if none was requested. */
  webhook: {
    /** Where the notification goes. */
    url: string;
    state: 'pending' | 'delivered' | 'failed';
    /** HTTP status that the receiver answered with. */
    last_status: number | null;
  } | null;
  /** The URL to poll. */
  status_url: string;
  /** The URL of the output, once `COMPLETED`. */
  response_url: string;
  /** The URL that cancels it. */
  cancel_url: string;
  /** The key that submitted it. */
  key_id: string;
  /** The caller's own pairs of texts; empty if none were given. */
  metadata: Record<string, string>;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
};

export type RequestList = {
  /** Newest first. */
  data: Array<RequestLine>;
  /** For the next page; null at the end. */
  next_cursor: string | null;
};

export type RequestLine = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: StatusName;
  /** Reserved at submit. */
  quoted_usd_micro: bigint;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: bigint | null;
  /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
  error_code: FailureCode | null;
  /** The input in one line, at most 500 characters: its prompt, or else its short values. Null for a chat, and once the input is deleted. */
  prompt: string | null;
  /** Whether it is marked in the library of the web pages. */
  favorite: boolean;
  /** The reason why it `FAILED`; else null. */
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  /** The first 12 outputs that are still kept. */
  outputs: Array<LineOutput>;
  /** Number of outputs that it made, kept or not. */
  output_count: number;
  /** When the outputs are deleted; null if none are kept. */
  expires_at: string | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  /** The URL to poll. */
  status_url: string;
  /** The URL of the output, once `COMPLETED`. */
  response_url: string;
  /** The URL that cancels it. */
  cancel_url: string;
  /** The key that submitted it. */
  key_id: string;
  /** The caller's own pairs of texts; empty if none were given. */
  metadata: Record<string, string>;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
};

export type LineOutput = {
  /** The number of the output in its link. */
  index: number;
  /** Its field in the response. */
  field: string;
  /** A signed link; works for 24 hours after completion, without a key. */
  url: string;
  /** Found in the bytes. */
  content_type: string;
  /** Pixels. */
  width?: number;
  /** Pixels. */
  height?: number;
  /** Seconds. */
  duration?: number;
  /** Bytes. */
  file_size: number;
  /** A suggested file name. */
  file_name: string;
  /** A small WebP of an image, or the picture that came with a video; null: there is none. */
  thumbnail_url: string | null;
};

export type RequestCard = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** The kind of output. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: StatusName;
  /** Reserved at submit. */
  quoted_usd_micro: bigint;
  /** Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until it is final. */
  charged_usd_micro: bigint | null;
  price: {
    /** The unit of the price. `MP` is a megapixel. */
    unit: Unit;
    /** Price of one unit. */
    unit_price_usd_micro: bigint;
    /** Units quoted; once `COMPLETED`, units delivered. */
    quantity: number;
  };
  /** The model's own count if it reports one; otherwise a count of what was delivered. */
  usage?: ChatUsage;
  /** The outputs, once `COMPLETED`; empty after they have expired. */
  output_urls: Array<string>;
  /** The reason why it `FAILED`; else null. */
  error: {
    /** The reason why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
    details?: {
      /** A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`. */
      reason: string;
      [field: string]: unknown;
    };
  } | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at: string | null;
  /** When the outputs are deleted; null if there are none. */
  expires_at: string | null;
  /** Null if none was requested. */
  webhook: {
    /** Where the notification goes. */
    url: string;
    state: 'pending' | 'delivered' | 'failed';
    /** HTTP status that the receiver answered with. */
    last_status: number | null;
  } | null;
  /** The URL to poll. */
  status_url: string;
  /** The URL of the output, once `COMPLETED`. */
  response_url: string;
  /** The URL that cancels it. */
  cancel_url: string;
  /** The key that submitted it. */
  key_id: string;
  /** The caller's own pairs of texts; empty if none were given. */
  metadata: Record<string, string>;
  /** The `x-request-id` of the reply to the submit; null if the request is older than this field. */
  call_id: string | null;
  /** The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none. */
  caller_id: string | null;
  /** The submitted input. For a chat call only `max_tokens`, `stream` and the number of messages, never the messages. It is emptied 30 days after the request has ended, and on a cancel if it is larger than 16 KiB. */
  input: Record<string, unknown>;
};

export type Status = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: StatusName;
  /** Number of requests ahead, 0 for the next one; counted up to 1000. Only while IN_QUEUE. */
  queue_position?: number;
  /** 0 to 1, if the model reports it. */
  progress?: number;
  /** Newest log lines, if the model reports them. */
  logs?: Array<string>;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at?: string;
  /** When it became final. */
  completed_at?: string;
  /** When its cancel was asked for while it ran. */
  cancel_requested_at?: string;
  /** The URL to poll. */
  status_url: string;
  /** The URL of the output, once `COMPLETED`. */
  response_url: string;
  /** The URL that cancels it. */
  cancel_url: string;
  /** The reason why an accepted request ended `FAILED`. */
  error?: Failure;
  metrics?: {
    /** Waited, milliseconds. */
    queue_ms?: number;
    /** Ran, milliseconds. */
    run_ms?: number;
  };
} & (
  | { status: 'IN_QUEUE' | 'IN_PROGRESS' }
  | { status: 'COMPLETED' | 'CANCELLED'; completed_at: string }
  | { status: 'FAILED'; completed_at: string; error: Failure }
);

/** The model's output. Its fields depend on the model. */
export type Output = {
  /** Images. */
  images?: Array<MediaFile>;
  image?: MediaFile;
  video?: MediaFile;
  audio?: MediaFile;
  /** The text that the model wrote. */
  text?: string;
  /** Send it with the same input to get the same output again. */
  seed?: number;
  [field: string]: unknown;
};

export type MediaFile = {
  /** A signed link; works for 24 hours after completion, without a key. */
  url: string;
  /** Found in the bytes. */
  content_type: string;
  /** Pixels. */
  width?: number;
  /** Pixels. */
  height?: number;
  /** Seconds. */
  duration?: number;
  /** Bytes. */
  file_size: number;
  /** A suggested file name. */
  file_name: string;
  [field: string]: unknown;
};

export type Cancelled = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** `IN_PROGRESS`: the job is asked to stop. */
  status: 'CANCELLED' | 'IN_PROGRESS';
  /** When that was first asked for. */
  cancel_requested_at?: string;
};

export type DeletedOutput = {
  /** The id of the request, a UUIDv7. */
  request_id: string;
  /** Always true. */
  deleted: boolean;
};

export type UsageLine = {
  /** The day (UTC) on which the requests ended; null if not by day. */
  day: string | null;
  /** Null if not by model. */
  model_id: string | null;
  /** Null if not by key. */
  key_id: string | null;
  /** The person who was signed in; null for programs with a key, and if not by person. */
  person_id: string | null;
  /** The values of the names in `by`; null where a request has no such name. */
  metadata: Record<string, string | null>;
  /** Requests that ended; cancelled ones are not counted. */
  requests: number;
  /** `COMPLETED`. */
  completed: number;
  /** `FAILED`. */
  failed: number;
  /** Charged, less the refunds booked in these days. */
  charged_usd_micro: bigint;
  /** Tokens that chats read. */
  input_tokens: number;
  /** Tokens that chats wrote. */
  output_tokens: number;
  /** The part of `input_tokens` that was read from a cache. */
  cached_tokens: number;
  /** The part of `output_tokens` that was reasoning. */
  reasoning_tokens: number;
};

export type Refusal = {
  /** The `x-request-id` of the reply. */
  call_id: string;
  at: string;
  /** The key of the call. */
  key_id: string;
  /** The model that the call named; null if it named none that exists. */
  model_id: string | null;
  /** The path, with `*` and `:name` for what is not an id of this service. */
  path: string;
  /** HTTP status of the reply, or of the error in a stream. */
  status: number;
  /** `error.code` of the reply. */
  code: string;
  /** `error.details.reason` of the reply. */
  reason: string | null;
};

export type UploadedFile = {
  /** Can be used in place of a URL in any URL field of an input. */
  file_id: string;
  /** Found in the bytes. */
  content_type: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the bytes, in hex. */
  sha256: string;
  /** When it was stored. */
  created_at: string;
  /** When it is deleted: by default 7 days after it was stored. */
  expires_at: string;
  /** The `file_id`. This and the next fields: only if the body was a form. */
  id?: string;
  object?: 'file';
  /** The `size`. */
  bytes?: number;
  /** As it was sent. It is not kept. */
  filename?: string;
  /** As it was sent, else `user_data`. It has no effect. */
  purpose?: string;
};

/** `max_tool_calls` is only repeated in the reply. `prompt_cache_key` and `safety_identifier` go to the models that take them. `previous_response_id`, `conversation`, `prompt` and `background: true` get 400. `x-ignored-fields` names what has no effect. */
export type ResponseRequest = {
  /** The id of a text model. */
  model: string;
  /** The whole conversation, oldest first. A text is one message of the user. */
  input: string | Array<ResponseItem>;
  /** The first system message. */
  instructions?: string | null;
  /** Maximum number of tokens to write. Default: 32768. Never more than the model's own maximum. */
  max_output_tokens?: number | null;
  /** Answer as server-sent events. */
  stream?: boolean | null;
  temperature?: number | null;
  top_p?: number | null;
  top_logprobs?: number | null;
  /** `function` and `custom` tools only, also in a `namespace`. */
  tools?: Array<Record<string, unknown>> | null;
  tool_choice?: Record<string, unknown> | string | null;
  parallel_tool_calls?: boolean | null;
  text?: {
    /** `text`, `json_object` or `json_schema`. */
    format?: Record<string, unknown> | null;
    verbosity?: string | null;
    [field: string]: unknown;
  } | null;
  reasoning?: {
    effort?: string | null;
    /** Asks for a summary: `auto`, `concise` or `detailed`. */
    summary?: string | null;
    [field: string]: unknown;
  } | null;
  /** `message.output_text.logprobs` asks for log probabilities. */
  include?: Array<string> | null;
  user?: string | null;
  /** Kept with the request and repeated in the reply; no model gets it. */
  metadata?: Record<string, string> | null;
  [field: string]: unknown;
};

/** A `message` (the type may be missing) has `role` (`user`, `system`, `developer`, `assistant`) and `content`, a text or a list of `input_text`, `input_image`, `input_file`, `output_text` and `refusal`. Send the items of a reply back unchanged. The items of Codex are read or named in `x-ignored-fields`. */
export type ResponseItem = { type?: string; [field: string]: unknown };

/** It also repeats fields of the call. `store` is always false. */
export type Response = {
  /** `resp_` and the id of the request. */
  id: string;
  object: 'response';
  /** Unix seconds. */
  created_at: number;
  /** Unix seconds; null unless the status is `completed`. */
  completed_at: number | null;
  /** The catalog id. */
  model: string;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: Array<ResponseOutputItem>;
  incomplete_details: {
    reason: 'max_output_tokens' | 'content_filter';
    [field: string]: unknown;
  } | null;
  /** If the status is `failed`. */
  error: { code: string; message: string; [field: string]: unknown } | null;
  usage: {
    /** Tokens read. */
    input_tokens: number;
    input_tokens_details: {
      cached_tokens: number;
      cache_write_tokens: number;
      [field: string]: unknown;
    };
    /** Tokens written. */
    output_tokens: number;
    output_tokens_details: { reasoning_tokens: number; [field: string]: unknown };
    /** Tokens read and written. */
    total_tokens: number;
    /** Cost of the call. */
    cost_usd_micro: bigint;
    [field: string]: unknown;
  } | null;
  [field: string]: unknown;
};

/** A `message` has `content`, a list of `output_text` and `refusal`. A `reasoning` has `summary`, `content` and `encrypted_content`. A call has `call_id`, `name` and `arguments` or `input`. */
export type ResponseOutputItem = {
  id: string;
  type: 'message' | 'reasoning' | 'function_call' | 'custom_tool_call';
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  [field: string]: unknown;
};

/** An event of OpenAI's Responses, with its own fields. */
export type ResponseEvent = {
  /** The same as the name of the event, such as `response.output_text.delta`. */
  type: string;
  /** From 0, without gaps. */
  sequence_number: number;
  /** It also repeats fields of the call. `store` is always false. */
  response?: Response;
  [field: string]: unknown;
};

export type ImageGeneration = {
  /** The id of an image model. */
  model: string;
  /** A description of the image. */
  prompt: string;
  /** The number of images: `num_images` of the model. */
  n?: number;
  /** `auto`, or `WIDTHxHEIGHT` in pixels. A model that has only aspect ratios gets the nearest one, and the smallest `resolution` with at least as many pixels. */
  size?: string;
  /** The form of the images; both forms if left out. */
  response_format?: 'url' | 'b64_json';
  /** `auto`, `standard` or a value of the model. */
  quality?: string;
  /** A value of the model, such as `png`, `jpeg` or `webp`. */
  output_format?: string;
  /** `auto` or a value of the model. */
  background?: string;
  /** Pairs of texts that are kept with the request; in a form, write them as JSON. */
  metadata?: Record<string, string>;
  /** Ignored. */
  user?: string;
  [field: string]: unknown;
};

export type ImagesResponse = {
  /** Unix seconds. */
  created: number;
  data: Array<{
    /** The bytes of the image in base64. */
    b64_json?: string;
    /** A signed link; works for 24 hours. */
    url?: string;
  }>;
  usage: {
    /** Always 0: images are not priced by tokens. */
    input_tokens: number;
    /** Always 0. */
    output_tokens: number;
    /** Always 0. */
    total_tokens: number;
    input_tokens_details: { text_tokens: number; image_tokens: number };
    /** The charge. */
    cost_usd_micro: bigint;
  };
  /** The id of the request, for the calls below /requests. */
  request_id: string;
  /** Fields that the model's `input_schema` does not have, at most 20; missing if there are none. They are accepted, but mostly have no effect. */
  unknown_inputs?: Array<UnknownInput>;
};

export type ImageEdit = {
  /** The id of an image model. */
  model: string;
  /** A description of the image. */
  prompt: string;
  /** The number of images: `num_images` of the model. */
  n?: number;
  /** `auto`, or `WIDTHxHEIGHT` in pixels. A model that has only aspect ratios gets the nearest one, and the smallest `resolution` with at least as many pixels. */
  size?: string;
  /** The form of the images; both forms if left out. */
  response_format?: 'url' | 'b64_json';
  /** `auto`, `standard` or a value of the model. */
  quality?: string;
  /** A value of the model, such as `png`, `jpeg` or `webp`. */
  output_format?: string;
  /** `auto` or a value of the model. */
  background?: string;
  /** Pairs of texts that are kept with the request; in a form, write them as JSON. */
  metadata?: Record<string, string>;
  /** Ignored. */
  user?: string;
  /** The images; at most 16. */
  image?: string | {
    /** A public address or a `data:` address. */
    image_url: string;
  } | {
    /** The id of an upload. */
    file_id: string;
  } | Array<string | {
    /** A public address or a `data:` address. */
    image_url: string;
  } | {
    /** The id of an upload. */
    file_id: string;
  }>;
  /** The same as `image`. */
  images?: Array<string | {
    /** A public address or a `data:` address. */
    image_url: string;
  } | {
    /** The id of an upload. */
    file_id: string;
  }>;
  mask?: string | {
    /** A public address or a `data:` address. */
    image_url: string;
  } | {
    /** The id of an upload. */
    file_id: string;
  };
  [field: string]: unknown;
};

export type VideoCreation = {
  /** The id of a video model. */
  model: string;
  /** A description of the video. */
  prompt: string;
  /** Its length, such as `4`. */
  seconds?: string | number;
  /** `WIDTHxHEIGHT` in pixels. A model with resolutions gets the smallest that holds it. */
  size?: string;
  /** Pairs of texts that are kept with the request; in a form, write them as JSON. */
  metadata?: Record<string, string>;
  /** A picture that the video begins with. */
  input_reference?: {
    /** A public address or a `data:` address. */
    image_url: string;
  } | {
    /** The id of an upload. */
    file_id: string;
  } | string;
  [field: string]: unknown;
};

export type Video = {
  /** The id of the request, for the calls below /requests too. */
  id: string;
  object: 'video';
  /** The model. */
  model: string;
  /** A cancelled video is `failed`, with the error code `cancelled`. */
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  /** In percent. */
  progress: number;
  /** When it was asked for. In Unix seconds. */
  created_at: number;
  /** When it ended. In Unix seconds. */
  completed_at: number | null;
  /** When its bytes are deleted. In Unix seconds. */
  expires_at: number | null;
  /** As sent. */
  prompt: string | null;
  /** As sent, else as made; `auto` until then. */
  size: string;
  /** Its length, as a text. */
  seconds: string;
  /** Always null. */
  remixed_from_video_id: string | null;
  error: {
    code: string;
    /** For people. */
    message: string;
  } | null;
};

export type VideoList = {
  object: 'list';
  data: Array<Video>;
  first_id: string | null;
  /** `after` of the next page. */
  last_id: string | null;
  has_more: boolean;
};

export type DeletedVideo = { id: string; object: 'video.deleted'; deleted: boolean };

export type NewApiKey = {
  /** The secret, shown only here. */
  key: string;
  /** Its id, which never changes. */
  key_id: string;
  /** Your name for it. */
  name: string;
  /** First and last characters of its secret. */
  hint: string;
  /** spend: it runs models. keys: it manages the keys of scope spend, and nothing else. */
  scope: 'spend' | 'keys';
  /** Only an active key works. */
  state: 'active' | 'expired' | 'revoked';
  /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
  monthly_limit_usd_micro: bigint | null;
  /** When it stops working. Null: never. */
  expires_at: string | null;
  /** The only models that it may use. Null: all. */
  models: Array<string> | null;
  /** Calls a minute. Null: the service's usual limit. */
  rpm: number | null;
  /** Open jobs at once. Null: the service's usual limit. */
  open_jobs: number | null;
  /** In this month (UTC), reservations included. */
  spent_usd_micro: bigint;
  /** Held by its open requests. */
  reserved_usd_micro: bigint;
  /** When the next month begins. */
  resets_at: string;
  /** Its open jobs now. */
  open_requests: number;
  /** When it was made. */
  created_at: string;
  /** The key of scope keys that made it. Null: a person or the operator did. */
  created_by: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
  /** Its newest call. */
  last_used_at: string | null;
};

export type ApiKeyList = { data: Array<ApiKey>; next_cursor: string | null };

export type ApiKey = {
  /** Its id, which never changes. */
  key_id: string;
  /** Your name for it. */
  name: string;
  /** First and last characters of its secret. */
  hint: string;
  /** spend: it runs models. keys: it manages the keys of scope spend, and nothing else. */
  scope: 'spend' | 'keys';
  /** Only an active key works. */
  state: 'active' | 'expired' | 'revoked';
  /** The most that it may charge and reserve in a month (UTC). Null: unlimited. */
  monthly_limit_usd_micro: bigint | null;
  /** When it stops working. Null: never. */
  expires_at: string | null;
  /** The only models that it may use. Null: all. */
  models: Array<string> | null;
  /** Calls a minute. Null: the service's usual limit. */
  rpm: number | null;
  /** Open jobs at once. Null: the service's usual limit. */
  open_jobs: number | null;
  /** In this month (UTC), reservations included. */
  spent_usd_micro: bigint;
  /** Held by its open requests. */
  reserved_usd_micro: bigint;
  /** When the next month begins. */
  resets_at: string;
  /** Its open jobs now. */
  open_requests: number;
  /** When it was made. */
  created_at: string;
  /** The key of scope keys that made it. Null: a person or the operator did. */
  created_by: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
  /** Its newest call. */
  last_used_at: string | null;
};

export type VersionCreation = {
  /** The model: `owner/name`, the id of its version, both, or its id in `/models`. */
  version: string;
  /** The inputs of the model. */
  input: Record<string, unknown>;
  /** A public address that gets the prediction once it has ended. */
  webhook?: string;
  /** Without `completed` nothing is sent. Other events are accepted and not sent. */
  webhook_events_filter?: Array<string>;
  [field: string]: unknown;
};

export type Prediction = {
  /** The id of the request, for the calls below /v1/requests too. */
  id: string;
  /** As it was asked for. */
  model: string;
  /** As it was asked for, else `hidden`. */
  version: string;
  /** As it was sent. */
  input: Record<string, unknown>;
  /** An address, a list of them, or other data; null until it has succeeded. */
  output: Array<string> | Record<string, unknown> | string | null;
  /** For people. */
  error: string | null;
  status: 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled';
  /** Lines, while it runs. */
  logs: string;
  /** `predict_time` and `total_time` in seconds, once it has ended. */
  metrics: Record<string, unknown>;
  source: 'api';
  /** The output has been deleted. */
  data_removed: boolean;
  /**  */
  created_at: string;
  /**  */
  started_at: string | null;
  /**  */
  completed_at: string | null;
  urls: { get: string; cancel: string };
};

export type PredictionList = {
  /** Always null. */
  previous: string | null;
  /** The next page. */
  next: string | null;
  results: Array<Prediction>;
};

export type PredictionCreation = {
  /** The inputs of the model. */
  input: Record<string, unknown>;
  /** A public address that gets the prediction once it has ended. */
  webhook?: string;
  /** Without `completed` nothing is sent. Other events are accepted and not sent. */
  webhook_events_filter?: Array<string>;
  [field: string]: unknown;
};

export type ReplicateModel = {
  /** The model in `/v1/models`. */
  url: string;
  owner: string;
  name: string;
  description: string;
  visibility: 'public';
  is_official: boolean;
  /** Always 0. */
  run_count: number;
  latest_version: {
    /** Can be sent as `version`. */
    id: string;
    created_at: string;
    cog_version: string | null;
    /** The inputs, as `components.schemas.Input`. */
    openapi_schema: Record<string, unknown>;
  };
};

export type ReplicateFile = {
  /** The `file_id` of the upload. */
  id: string;
  /** Found in the bytes. */
  content_type: string;
  /** Bytes. */
  size: number;
  checksums: {
    /** SHA-256 of the bytes, in hex. */
    sha256: string;
  };
  /** As it was sent. */
  metadata: Record<string, unknown>;
  created_at: string;
  expires_at: string;
  urls: {
    /** Can be used in any URL field of an input. */
    get: string;
  };
};

export type ReplicateFileList = {
  /** Always null. */
  previous: string | null;
  /** The next page. */
  next: string | null;
  results: Array<ReplicateFile>;
};

export type WebhookSecret = {
  /** `whsec_` and base64: signs webhooks, as in Standard Webhooks. */
  key: string;
};
