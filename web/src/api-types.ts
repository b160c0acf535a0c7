// Made by `npm run generate` from the schemas beside the handlers.

/** What each call takes and answers; amounts are decimal texts of micro-USD, times ISO 8601. */
export interface Calls {
  'GET /api/accounts/:account_id/keys': {
    query: {
      state?: 'active' | 'all';
      /** Entries of a page. */
      limit?: number;
      /** `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<Key>;
      next_cursor: string | null;
      studio: Key;
      defaults: {
        rpm: number;
        open_jobs: number;
      };
      /** What the operator has set: people may go lower. Null: nothing. */
      ceilings: KeyCeilings;
      refused: Array<RefusedCalls>;
    };
  };
  'POST /api/accounts/:account_id/keys': {
    body: {
      name: string;
      monthly_limit_usd_micro?: string | null;
      expires_at?: string | null;
      models?: Array<string> | null;
      rpm?: number | null;
      open_jobs?: number | null;
    };
    reply: NewKey;
  };
  'GET /api/accounts/:account_id/keys/:key_id': {
    reply: Key;
  };
  'PATCH /api/accounts/:account_id/keys/:key_id': {
    body: {
      name?: string;
      monthly_limit_usd_micro?: string | null;
      expires_at?: string | null;
      models?: Array<string> | null;
      rpm?: number | null;
      open_jobs?: number | null;
    };
    reply: Key;
  };
  'POST /api/accounts/:account_id/keys/:key_id/rotate': {
    body: {
      last4: string;
      overlap_hours: number;
    };
    reply: NewKey;
  };
  'DELETE /api/accounts/:account_id/keys/:key_id/previous': {
    reply: Key;
  };
  'DELETE /api/accounts/:account_id/keys/:key_id': {
    reply: Key;
  };
  'GET /api/accounts/:account_id/v1/balance': {
    reply: Balance;
  };
  'POST /api/accounts/:account_id/v1/estimate': {
    body: EstimateRequest;
    reply: Estimate;
  };
  'POST /api/accounts/:account_id/v1/chat/completions': {
    body: ChatRequest;
    reply: ChatCompletion;
  };
  'POST /api/accounts/:account_id/v1/queue/*': {
    body: ModelInput;
    reply: QueuedRequest;
  };
  'GET /api/accounts/:account_id/v1/requests': {
    query: {
      /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
      status?: Status;
      /** Only those of this model. */
      model_id?: string;
      /** Only those that came with this key. */
      key_id?: string;
      /** `created_at` then or later: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      from?: string;
      /** `created_at` before then: an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, `2026-01-31T00:00:00Z`. */
      to?: string;
      /** How many. */
      limit?: number;
      /** The `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: RequestList;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id': {
    reply: RequestCard;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id/status': {
    query: {
      /** Holds the call until the state changes, for at most this many seconds. */
      wait?: number;
      /** `final`: the held call returns only at a final state. `change`: at any new state. Without `wait`, `until=final` waits up to 60 seconds. */
      until?: 'change' | 'final';
    };
    reply: RequestStatus;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id/status/stream': {
    reply: unknown;
  };
  'GET /api/accounts/:account_id/v1/requests/:request_id/response': {
    reply: ModelOutput;
  };
  'POST /api/accounts/:account_id/v1/requests/:request_id/cancel': {
    reply: Cancelled;
  };
  'PUT /api/accounts/:account_id/v1/requests/:request_id/cancel': {
    reply: Cancelled;
  };
  'POST /api/accounts/:account_id/v1/files': {
    reply: UploadedFile;
  };
  'GET /api/operator/vouchers': {
    query: {
      /** Entries of a page. */
      limit?: number;
      /** `next_cursor` of the page before. */
      cursor?: string;
    };
    reply: {
      data: Array<Voucher>;
      next_cursor: string | null;
    };
  };
  'POST /api/operator/vouchers': {
    body: {
      amount_usd_micro: string;
      count: number;
      note?: string | null;
      expires_at?: string | null;
    };
    reply: {
      data: Array<{
        id: string;
        code: string;
      }>;
    };
  };
  'POST /api/operator/vouchers/:voucher_id/void': {
    reply: {
      status: 'void';
    };
  };
}

export type Key = {
  key_id: string;
  name: string;
  /** First and last characters. */
  hint: string;
  last4: string;
  is_studio: boolean;
  state: 'active' | 'expired' | 'revoked';
  monthly_limit_usd_micro: string | null;
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
  /** In this month (UTC), what is reserved included. */
  spent_usd_micro: string;
  reserved_usd_micro: string;
  resets_at: string;
  rpm: number | null;
  open_jobs: number | null;
  open_requests: number;
  models: Array<string> | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Until when the secret before the last rotation works. */
  previous_until: string | null;
  last_used_at: string | null;
  /** Newest call with the secret before the last rotation. */
  previous_used_at: string | null;
};

/** What the operator has set: people may go lower. Null: nothing. */
export type KeyCeilings = {
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
};

export type RefusedCalls = {
  key_id: string;
  name: string;
  code: string;
  calls: number;
};

export type NewKey = {
  /** The secret. */
  key: string;
  key_id: string;
  name: string;
  /** First and last characters. */
  hint: string;
  last4: string;
  is_studio: boolean;
  state: 'active' | 'expired' | 'revoked';
  monthly_limit_usd_micro: string | null;
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
  /** In this month (UTC), what is reserved included. */
  spent_usd_micro: string;
  reserved_usd_micro: string;
  resets_at: string;
  rpm: number | null;
  open_jobs: number | null;
  open_requests: number;
  models: Array<string> | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Until when the secret before the last rotation works. */
  previous_until: string | null;
  last_used_at: string | null;
  /** Newest call with the secret before the last rotation. */
  previous_used_at: string | null;
};

export type Balance = {
  /** The currency of the account: 1 USDT counts as 1 USD, `"1000000"`. */
  currency: 'USDT';
  /** What the account can spend; all its keys share it. */
  available_usd_micro: string;
  /** What its open requests hold, in addition. */
  reserved_usd_micro: string;
  /** The key of this call. A submit needs room in both: balance and limit. */
  key: {
    /** Names the key of this call; not secret. */
    key_id: string;
    /** The name of the key. */
    name: string;
    /** The key's limit of the month; null: unlimited. */
    limit_usd_micro: string | null;
    /** Charged and reserved by the key this month. */
    spent_usd_micro: string;
    /** When the month (UTC) ends and a new limit begins. */
    resets_at: string;
  };
};

export type EstimateRequest = {
  /** An id of the catalog. */
  model_id: string;
  /** The full input, as it will be submitted; null fields count as missing. For a text model the body of the chat call, or `input_tokens` and `output_tokens`, whole numbers from 0. */
  input?: Record<string, unknown>;
};

export type Estimate = {
  /** The requested model. */
  model_id: string;
  /** What comes out. */
  kind: Kind;
  /** What a submit of this input reserves, and the most it is charged. */
  price_usd_micro: string;
  /** What is priced. `MP` is a megapixel. */
  unit: Unit;
  /** What one unit costs, extras included; for text the higher rate. */
  unit_price_usd_micro: string;
  /** How many units. */
  quantity: number;
  /** The share of the list price that this account pays; missing if it is 1. The rates of the estimate include it already. */
  price_multiplier?: number;
  /** How the price is made up; the amounts add up to it. */
  breakdown: Array<QuoteLine>;
  /** Values assumed for missing fields, by field: the most expensive `resolution`, 5 `duration_seconds`, 1 `num_images`. */
  assumptions: Record<string, unknown>;
  /** If `resolution` is missing and decides the price: what a unit costs in each. */
  unit_price_by_resolution_usd_micro?: Record<string, string>;
  /** Fields that the model's `input_schema` does not have, at most 20; missing if there are none. They are accepted, and mostly without effect. */
  unknown_inputs?: Array<UnknownInput>;
};

/** What comes out. */
export type Kind = 'video' | 'image' | 'text';

/** What is priced. `MP` is a megapixel. */
export type Unit = 'sec' | 'image' | 'request' | 'MP' | '1M tokens';

export type QuoteLine = {
  /** What is paid for. */
  label: string;
  /** How many units. */
  quantity: number;
  /** What one unit costs. */
  unit_price_usd_micro: string;
  /** What the line adds to the price. */
  amount_usd_micro: string;
};

export type UnknownInput = {
  /** As it was sent. */
  field: string;
  /** The field that was likely meant; null if none is similar. */
  did_you_mean: string | null;
};

/** Fields that are not named here are dropped. */
export type ChatRequest = {
  /** The id of a text model. */
  model: string;
  /** The conversation, oldest first. */
  messages: Array<ChatMessage>;
  /** Most completion tokens. If missing: 4096. The model's own maximum holds as well. */
  max_tokens?: number | null;
  /** The same as `max_tokens`. */
  max_completion_tokens?: number | null;
  /** Only 1. */
  n?: number | null;
  /** Answer as server-sent events. */
  stream?: boolean | null;
  /** For streams. */
  stream_options?: {
    /** Request a last chunk with `usage`. */
    include_usage?: boolean | null;
    [field: string]: unknown;
  } | null;
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
  [field: string]: unknown;
};

/** Besides these: `name`, `tool_calls`, `tool_call_id`, `function_call`, `refusal`, `reasoning`, `reasoning_content`, `reasoning_details` and `audio.id`. Other fields, also of parts, are dropped. */
export type ChatMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  /** A text, or a list of parts: `text`, `refusal`, `image_url`, `input_audio`, `file`. May be missing in a message of a tool, or of an assistant that called tools. */
  content?: Array<Record<string, unknown>> | string | null;
  [field: string]: unknown;
};

export type ChatCompletion = {
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
      /** Why the model does not answer. */
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
    [field: string]: unknown;
  }>;
  /** The model's own count if it gives one; else what was delivered is counted. */
  usage: ChatUsage;
  [field: string]: unknown;
};

export type ToolCall = FunctionCall | CustomCall;

export type FunctionCall = {
  /** Names the call; the message with its result has it as `tool_call_id`. */
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
  /** Names the call; the message with its result has it as `tool_call_id`. */
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

/** The model's own count if it gives one; else what was delivered is counted. */
export type ChatUsage = {
  /** Tokens read. */
  prompt_tokens: number;
  /** Tokens written. */
  completion_tokens: number;
  /** Both. */
  total_tokens: number;
  /** What the call cost. */
  cost_usd_micro: string;
  [field: string]: unknown;
};

/** The model's own input: its `input_schema` in the catalog says what is allowed. These fields are the usual ones. */
export type ModelInput = {
  /** What to make. */
  prompt?: string;
  /** A `file_id`, a public http(s) address, or a base64 `data:` address. */
  image_url?: string;
  /** As `image_url`. */
  video_url?: string;
  /** As `image_url`. */
  audio_url?: string;
  /** If missing, 5 seconds are reserved. */
  duration_seconds?: number;
  /** One of the model's `resolutions`. If missing, the highest price is reserved. */
  resolution?: string;
  /** Such as `16:9`. */
  aspect_ratio?: string;
  /** Whether a video gets audio. */
  generate_audio?: boolean;
  /** If missing: 1. */
  num_images?: number;
  /** Same as the query parameter; if both are given they must agree. No model sees it. */
  webhook_url?: string;
  [field: string]: unknown;
};

export type QueuedRequest = {
  status: 'IN_QUEUE';
  /** Names the request; a UUIDv7. */
  request_id: string;
  /** Where to poll. */
  status_url: string;
  /** Where the output is, once `COMPLETED`. */
  response_url: string;
  /** Cancels while `IN_QUEUE`. */
  cancel_url: string;
  /** The model it runs on. */
  model_id: string;
  /** Reserved; the charge is never higher. */
  quoted_usd_micro: string;
  /** Requests ahead when it was accepted. */
  queue_position: number;
  /** Fields that the model's `input_schema` does not have, at most 20; missing if there are none. They are accepted, and mostly without effect. */
  unknown_inputs?: Array<UnknownInput>;
};

/** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
export type Status = 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

export type RequestList = {
  /** Newest first. */
  data: Array<RequestLine>;
  /** For the next page; null at the end. */
  next_cursor: string | null;
};

export type RequestLine = {
  /** Names the request; a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** What comes out. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`. Null until it is final. */
  charged_usd_micro: string | null;
  /** Why an accepted request ended `FAILED`. Nothing was charged. */
  error_code: FailureCode | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
  /** Where to poll. */
  status_url: string;
  /** Where the output is, once `COMPLETED`. */
  response_url: string;
  /** Cancels while `IN_QUEUE`. */
  cancel_url: string;
  /** The key that submitted. */
  key_id: string;
};

/** Why an accepted request ended `FAILED`. Nothing was charged. */
export type FailureCode = 'upstream_rejected' | 'upstream_failed' | 'timeout' | 'output_too_large' | 'outcome_unknown' | 'output_unusable';

export type RequestCard = {
  /** Names the request; a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** What comes out. */
  kind: Kind;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Reserved at submit. */
  quoted_usd_micro: string;
  /** Charged, never more than quoted; 0 unless `COMPLETED`. Null until it is final. */
  charged_usd_micro: string | null;
  price: {
    /** What is priced. `MP` is a megapixel. */
    unit: Unit;
    /** What one unit costs. */
    unit_price_usd_micro: string;
    /** Units quoted; once `COMPLETED`, units delivered. */
    quantity: number;
  };
  /** The model's own count if it gives one; else what was delivered is counted. */
  usage?: ChatUsage;
  /** The outputs, once `COMPLETED`; empty after they have expired. */
  output_urls: Array<string>;
  /** Why it `FAILED`; else null. */
  error: {
    /** Why an accepted request ended `FAILED`. Nothing was charged. */
    code: FailureCode;
    /** For people. */
    message: string;
  } | null;
  /** When it was submitted. */
  created_at: string;
  /** When an upstream was first called. */
  started_at: string | null;
  /** When it became final. */
  completed_at: string | null;
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
  /** Where to poll. */
  status_url: string;
  /** Where the output is, once `COMPLETED`. */
  response_url: string;
  /** Cancels while `IN_QUEUE`. */
  cancel_url: string;
  /** The key that submitted. */
  key_id: string;
  /** What was submitted. For a chat call only its numbers, never its messages. Empty 30 days after its end, and after a cancel if it was larger than 16 KiB. */
  input: Record<string, unknown>;
};

export type RequestStatus = {
  /** Names the request; a UUIDv7. */
  request_id: string;
  /** The model it runs on. */
  model_id: string;
  /** `COMPLETED`, `FAILED` and `CANCELLED` are final. */
  status: Status;
  /** Requests ahead, 0 for the next; counted up to 1000. Only while IN_QUEUE. */
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
  /** Where to poll. */
  status_url: string;
  /** Where the output is, once `COMPLETED`. */
  response_url: string;
  /** Cancels while `IN_QUEUE`. */
  cancel_url: string;
  /** Why an accepted request ended `FAILED`. */
  error?: Failure;
  metrics?: {
    /** Waited, milliseconds. */
    queue_ms?: number;
    /** Ran, milliseconds. */
    run_ms?: number;
  };
};

/** Why an accepted request ended `FAILED`. */
export type Failure = {
  /** Why an accepted request ended `FAILED`. Nothing was charged. */
  code: FailureCode;
  /** For people. */
  message: string;
};

/** The model's output. Its fields depend on the model. */
export type ModelOutput = {
  /** Images. */
  images?: Array<MediaFile>;
  image?: MediaFile;
  video?: MediaFile;
  audio?: MediaFile;
  /** What the model wrote. */
  text?: string;
  /** Give it to get the same output again. */
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
  /** A name to save it under. */
  file_name: string;
  [field: string]: unknown;
};

export type Cancelled = {
  /** Names the request; a UUIDv7. */
  request_id: string;
  status: 'CANCELLED';
};

export type UploadedFile = {
  /** Put it into any URL field of an input. */
  file_id: string;
  /** Found in the bytes. */
  content_type: string;
  /** Bytes. */
  size: number;
  /** Of the bytes, hex. */
  sha256: string;
  /** When it was stored. */
  created_at: string;
  /** When it is deleted, 7 days later. */
  expires_at: string;
};

export type Voucher = {
  voucher_id: string;
  last4: string;
  amount_usd_micro: string;
  note: string | null;
  status: 'open' | 'redeemed' | 'void' | 'expired';
  /** The operator's e-mail address. */
  created_by: string | null;
  created_at: string;
  expires_at: string | null;
  redeemed_at: string | null;
  redeemed_by: string | null;
  redeemed_by_name: string | null;
};
