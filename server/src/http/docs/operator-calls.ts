import type { RouteDocs } from './route-docs.ts';

/** Facts for OpenAPI about the operator's calls, beside their schemas and their prose. */

export const listAccounts = named('listAccounts');
export const readAccount = named('readAccount');
export const createAccount: RouteDocs = {
  operationId: 'createAccount',
  replies: { 201: {} },
  errors: ['invalid_input', 'idempotency_conflict'],
};
export const suspend = named('suspendAccount');
export const resume = named('resumeAccount');
export const credit = booking('creditAccount');
export const adjust = booking('adjustAccount');
export const refund = booking('refundRequest');
export const listKeys = named('listKeys');
export const createKey: RouteDocs = { operationId: 'createKey', replies: { 201: {} } };
export const changeKey = named('changeKey');
export const revokeKey = named('revokeKey');
export const listAllRequests: RouteDocs = {
  operationId: 'listAllRequests',
  errors: ['not_found'],
};
export const listTransfers: RouteDocs = { operationId: 'listTransfers', errors: ['not_found'] };
export const readUsage = named('readUsage');
export const listEvents = named('listEvents');
export const setPrice = named('setAccountPrice');
export const setKeysByApi = named('setKeysByApi');
export const readStatement: RouteDocs = { operationId: 'readStatement', errors: ['not_found'] };
export const readAnyRequest = named('readAnyRequest');
export const readInput = named('readRequestInput');
export const findReference = named('findReference');
export const listVouchers = named('listVouchers');
export const createVouchers: RouteDocs = { operationId: 'createVouchers', replies: { 201: {} } };
export const voidVoucher = named('voidVoucher');
export const listInvitations = named('listSignUpInvitations');
export const createInvitation: RouteDocs = {
  operationId: 'createSignUpInvitation',
  replies: { 201: {} },
  errors: ['invalid_input'],
};
export const withdrawInvitation = named('withdrawSignUpInvitation');
export const readLog: RouteDocs = { operationId: 'readLog', errors: ['not_found'] };

function named(operationId: string): RouteDocs {
  return { operationId };
}

/** 200: it was booked before. */
function booking(operationId: string): RouteDocs {
  return { operationId, replies: { 200: {}, 201: {} }, errors: ['idempotency_conflict'] };
}
