import { balance } from './api/balance.ts';
import * as callbacks from './api/callbacks.ts';
import * as chats from './api/chat/doors.ts';
import { client } from './api/client.ts';
import * as deposits from './api/deposits.ts';
import * as docs from './docs/calls.ts';
import type { RouteDocs } from './docs/route-docs.ts';
import { run as falRun } from './fal/run.ts';
import { estimate } from './api/estimate.ts';
import * as files from './api/files.ts';
import { guide } from './api/guide.ts';
import * as images from './api/images/images.ts';
import * as keys from './api/keys.ts';
import * as models from './api/models.ts';
import { mayLag } from './may-lag.ts';
import * as ops from './api/ops.ts';
import * as outputs from './api/outputs.ts';
import * as queue from './api/queue.ts';
import * as requestLists from './requests/list.ts';
import * as requestOutput from './requests/output.ts';
import * as refusals from './requests/refusals.ts';
import * as requests from './requests/status.ts';
import { usage } from './api/usage.ts';
import { operatorCalls } from './operator/routes.ts';
import * as replicateFiles from './replicate/files.ts';
import * as predictions from './replicate/predictions.ts';
import * as videos from './videos/videos.ts';
import { anyone, below, key, keyOrSignature, row, signature, type Row } from './row.ts';

/** A call of the API, which the OpenAPI document describes. */
export type ApiRoute = Row & {
  docs: RouteDocs;
};

const spend = key('spend');
const manage = key('keys');

/** Below /v1, with a key of scope `spend`, or for the pages with a session. */
export const keyedCalls: Row[] = [
  row(spend, 'GET', '/balance', balance, 'readBalance'),
  row(spend, 'GET', '/deposit-addresses', deposits.addresses, 'listDepositAddresses'),
  row(spend, 'GET', '/deposits', deposits.list, 'listDeposits'),
  row(spend, 'POST', '/estimate', estimate, docs.estimate),
  row(spend, 'POST', '/chat/completions', chats.createCompletion, docs.chat),
  row(spend, 'POST', '/queue/*', queue.submit, docs.submit),
  row(spend, 'GET', '/requests', requestLists.list, 'listRequests'),
  row(spend, 'GET', '/requests/:request_id', requests.read, 'readRequest'),
  row(
    spend,
    'GET',
    '/requests/:request_id/status',
    requests.status,
    docs.status,
    requests.statusAhead,
  ),
  row(spend, 'GET', '/requests/:request_id/status/stream', requests.stream, docs.statusStream),
  row(spend, 'GET', '/requests/:request_id/response', requests.response, docs.response),
  row(spend, 'POST', '/requests/:request_id/cancel', requests.cancel, docs.cancel),
  row(spend, 'PUT', '/requests/:request_id/cancel', requests.cancel, docs.cancelPut),
  row(spend, 'DELETE', '/requests/:request_id/output', requestOutput.remove, docs.deleteOutput),
  row(spend, 'GET', '/usage', mayLag(usage), 'sumUsage'),
  row(spend, 'GET', '/refusals', refusals.list, 'listRefusals'),
  row(spend, 'POST', '/files', files.upload, docs.upload),
];

/** The same models in the form of other services, for their clients. The pages do not use them. */
const otherForms: Row[] = [
  row(spend, 'POST', '/responses', chats.createResponse, docs.createResponse),
  row(spend, 'POST', '/images/generations', images.generate, docs.generateImages),
  row(spend, 'POST', '/images/edits', images.edit, docs.editImages),
  row(spend, 'POST', '/videos', videos.create, docs.createVideo),
  row(spend, 'GET', '/videos', videos.list, 'listVideos'),
  row(spend, 'GET', '/videos/:request_id', videos.read, docs.readVideo),
  row(spend, 'DELETE', '/videos/:request_id', videos.remove, docs.deleteVideo),
  row(spend, 'GET', '/videos/:request_id/content', videos.content, docs.videoContent),
  row(spend, 'POST', '/messages', chats.createMessage, docs.messages),
  row(spend, 'POST', '/messages/count_tokens', chats.countTokens, docs.countTokens),
];

/** Below /v1, with a key of scope `keys`. The pages have their own calls for keys. */
const managingCalls: Row[] = [
  row(manage, 'POST', '/keys', keys.create, docs.createOwnKey),
  row(manage, 'GET', '/keys', keys.list, 'listOwnKeys'),
  row(manage, 'GET', '/keys/:key_id', keys.read, 'readOwnKey'),
  row(manage, 'PATCH', '/keys/:key_id', keys.change, 'changeOwnKey'),
  row(manage, 'DELETE', '/keys/:key_id', keys.revoke, 'revokeOwnKey'),
];

/** Below /v1, with a key or a signed link. */
const signed: Row[] = [
  row(keyOrSignature, 'GET', '/requests/:request_id/output/:index', outputs.read, docs.output),
  row(keyOrSignature, 'GET', '/files/:file_id', files.read, docs.readFile),
];

/** Below /v1, for upstreams: the address itself is signed, and the upstream signs the call. */
const calledBack: Row[] = [
  row(
    signature,
    'POST',
    '/callbacks/:upstream/:request_id/:attempt/:sig',
    callbacks.receive,
    docs.callback,
  ),
];

/** Below /v1, without a key. */
const open: Row[] = [
  row(anyone, 'GET', '/models', models.list, docs.listModels),
  row(anyone, 'GET', '/models/*', models.read, docs.readModel),
  row(anyone, 'GET', '/llms.txt', guide, docs.guide),
  row(anyone, 'GET', '/farebox-client.tgz', client, docs.client),
  row(anyone, 'GET', '/openapi.json', ops.openapi, docs.openapi),
];

/** Outside /v1, with a key of scope `spend`: the only address of fal that is useful by itself. */
const fal: Row[] = [row(spend, 'POST', '/fal/run/*', falRun, docs.falRun)];

/** Outside /v1: the API of Replicate, for its client. */
const replicate: Row[] = below('/replicate/v1', [
  row(spend, 'POST', '/predictions', predictions.create, docs.createPrediction),
  row(spend, 'GET', '/predictions', predictions.list, 'listPredictions'),
  row(spend, 'GET', '/predictions/:request_id', predictions.read, 'readPrediction'),
  row(spend, 'POST', '/predictions/:request_id/cancel', predictions.cancel, 'cancelPrediction'),
  row(spend, 'POST', '/models/*', predictions.createOfModel, docs.createModelPrediction),
  row(spend, 'GET', '/models/*', predictions.model, docs.readReplicateModel),
  row(spend, 'POST', '/files', replicateFiles.create, docs.createReplicateFile),
  row(spend, 'GET', '/files', replicateFiles.list, 'listReplicateFiles'),
  row(spend, 'GET', '/files/:file_id', replicateFiles.read, 'readReplicateFile'),
  row(spend, 'DELETE', '/files/:file_id', replicateFiles.remove, docs.deleteReplicateFile),
  row(spend, 'GET', '/webhooks/default/secret', predictions.secret, 'readWebhookSecret'),
]);

/** Outside /v1: for operators and supervisors. */
const health: Row[] = [
  row(anyone, 'GET', '/livez', ops.livez, docs.livez),
  row(anyone, 'GET', '/readyz', ops.readyz, docs.readyz),
  row(anyone, 'GET', '/metrics', ops.metrics, docs.metrics),
];

/** The whole API: the router, the OpenAPI document and the authorisation test read this table. */
export const routes: ApiRoute[] = [
  ...prefixed(open),
  ...prefixed(keyedCalls),
  ...[otherForms, managingCalls].flatMap(prefixed),
  ...prefixed(below('/operator', operatorCalls)),
  ...[signed, calledBack].flatMap(prefixed),
  ...fal,
  ...replicate,
  ...health,
].map(documented);

/** Routes that a process without the API also serves. */
export const outside: ApiRoute[] = health.map(documented);

function prefixed(rows: Row[]): Row[] {
  return rows.map((each) => ({ ...each, prefixed: true }));
}

function documented(each: Row): ApiRoute {
  const { docs: about } = each;
  if (!about) throw new Error(`${each.method} ${each.path} is not documented`);
  return { ...each, docs: about };
}
