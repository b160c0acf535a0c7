/** One request, as it looks in the examples of several routes. */

export const exampleId = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
const base = `http://localhost:8080/v1/requests/${exampleId}`;
export const exampleUrls = {
  status_url: `${base}/status`,
  response_url: `${base}/response`,
  cancel_url: `${base}/cancel`,
};
export const exampleAccountId = '0199b39f-5c2d-7e10-a6b4-93d1c7e2f805';
export const exampleFileId = 'file_0199b3c27d1e7a449c3f5e0b8a6d2f10';
export const exampleSignature = 'Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM';
export const exampleOutputUrl = `${base}/output/0?exp=1772452803&sig=${exampleSignature}`;
const times = {
  created_at: '2026-03-01T12:00:00.000Z',
  started_at: '2026-03-01T12:00:01.250Z',
  completed_at: '2026-03-01T12:00:03.900Z',
};
const keyId = '0199b3a0-11aa-7c3e-8b52-2f4d6e8a9c01';

export const exampleNumbers = {
  call_id: `req_${exampleId.replaceAll('-', '')}`,
  caller_id: 'order-1042',
};

export const exampleCard = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  kind: 'image',
  status: 'COMPLETED',
  quoted_usd_micro: '60000',
  charged_usd_micro: '60000',
  price: { unit: 'image', unit_price_usd_micro: '60000', quantity: 1 },
  output_urls: [exampleOutputUrl],
  error: null,
  input: { prompt: 'A lighthouse at dusk', resolution: '2k' },
  ...times,
  expires_at: '2026-03-02T12:00:03.000Z',
  webhook: { url: 'https://example.com/hooks/farebox', state: 'pending', last_status: null },
  ...exampleUrls,
  key_id: keyId,
  metadata: { customer: '42' },
  ...exampleNumbers,
};

export const exampleOutput = {
  seed: 42,
  images: [
    {
      url: exampleOutputUrl,
      content_type: 'image/png',
      width: 2048,
      height: 2048,
      file_size: 183_402,
      file_name: '5e0b8a6d2f10-0.png',
    },
  ],
};

export const runningStatus = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  status: 'IN_PROGRESS',
  progress: 0.4,
  logs: ['step 8 of 20'],
  created_at: times.created_at,
  started_at: times.started_at,
  ...exampleUrls,
  metrics: { queue_ms: 1250 },
};

export const failedStatus = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  status: 'FAILED',
  ...times,
  ...exampleUrls,
  error: { code: 'upstream_rejected', message: 'The model refused the input.' },
  metrics: { queue_ms: 1250, run_ms: 2650 },
};

const { request_id, model_id, kind, status, quoted_usd_micro, charged_usd_micro } = exampleCard;
export const exampleLine = {
  request_id,
  model_id,
  kind,
  status,
  quoted_usd_micro,
  charged_usd_micro,
  error_code: null,
  ...times,
  ...exampleUrls,
  key_id: keyId,
  metadata: exampleCard.metadata,
  ...exampleNumbers,
};
