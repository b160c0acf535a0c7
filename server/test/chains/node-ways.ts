/**
 * How real nodes and services refuse, number and delay: their statuses, codes and words, as their
 * users have reported them. `from` is a public issue, or the project whose source has the words.
 * Sizes are those of the report where a play chain has so many blocks, otherwise smaller.
 */

export interface NodeWay {
  node: string;
  from: string;
  /** The questions that it refuses. */
  refuses:
    | { blocks: number }
    | { addresses: number }
    | { logs: number }
    /** The product of the two. */
    | { work: number }
    /** This many calls of eth_getLogs after the first one, whatever their size. */
    | { calls: number }
    /** Every eth_getLogs: an outage, a wrong key, a method that is switched off. */
    | 'all';
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  /** The JSON-RPC error; a text is the whole body; null: the connection breaks. */
  error: object | string | null;
  /** The form of the body, if it is unusual. */
  form?: 'a list of one' | 'with a result of null' | 'half of the reply';
  /** The words that the operator reads, if the chain cannot be read. */
  told?: RegExp;
}

const error = (code: number, message: string, data?: unknown) => ({ code, message, data });

export const nodeWays: readonly NodeWay[] = [
  {
    node: 'Geth, topics',
    from: 'ethereum/go-ethereum eth/filters/api.go',
    refuses: { addresses: 30 },
    error: error(-32602, 'exceed max topics'),
  },
  {
    node: 'Geth, body',
    from: 'ethereum/go-ethereum rpc/http.go',
    refuses: { addresses: 20 },
    status: 413,
    error: 'content length too large (5312881>5242880)\n',
  },
  {
    node: 'Geth, time',
    from: 'ethereum/go-ethereum eth/filters',
    refuses: { work: 3_000 },
    error: error(-32002, 'request timed out'),
  },
  {
    node: 'Erigon',
    from: 'erigontech/erigon#20784',
    refuses: { blocks: 1_000 },
    error: error(-32000, 'query block range exceeds server limit, narrow your filter: 1000'),
  },
  {
    node: 'cdk-erigon',
    from: '0xPolygon/cdk-erigon#1706',
    refuses: { blocks: 1_000 },
    error: error(-32005, 'block range too large, max range: 1000'),
  },
  {
    node: 'Nethermind',
    from: 'NethermindEth/nethermind#1183',
    refuses: { logs: 1 },
    error: error(-32005, 'Too many logs requested. Max logs per response is 1.'),
  },
  {
    node: 'Besu',
    from: 'besu-eth/besu#4563',
    refuses: { blocks: 500 },
    error: error(-32005, 'Requested range exceeds maximum RPC range limit'),
  },
  {
    node: 'Reth, blocks',
    from: 'paradigmxyz/reth#8558',
    refuses: { blocks: 500 },
    error: error(-32602, 'query exceeds max block range 500'),
  },
  {
    node: 'Reth on Base, results',
    from: 'base/base#2421',
    refuses: { logs: 1 },
    error: error(-32602, 'query exceeds max results 20000, retry with the range 101-2100'),
  },
  {
    node: 'BNB Chain, blocks',
    from: 'AlphaWallet/alpha-wallet-android#2736',
    refuses: { blocks: 50 },
    error: error(-32000, 'exceed maximum block range: 50'),
  },
  {
    node: 'BNB Chain, switched off',
    from: 'bnb-chain/bsc#1215',
    refuses: 'all',
    error: error(-32005, 'limit exceeded'),
    told: /eth_getLogs: -32005 limit exceeded/,
  },
  {
    node: 'java-tron',
    from: 'tronprotocol/java-tron LogFilterWrapper',
    refuses: { blocks: 1_000 },
    error: error(-32602, 'exceed max block range: 1000'),
  },
  {
    node: 'TronGrid, suspended',
    from: 'TRON developer documentation, TronGrid limits',
    refuses: { calls: 4 },
    status: 403,
    error:
      '{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}',
  },
  {
    node: 'QuickNode, free',
    from: 'OffchainLabs/arbitrum-sdk#609',
    refuses: { blocks: 5 },
    status: 413,
    error: error(-32614, 'eth_getLogs is limited to a 5 range'),
  },
  {
    node: 'QuickNode, one block',
    from: 'OffchainLabs/arbitrum-sdk#609',
    refuses: { blocks: 1 },
    status: 413,
    error: error(-32614, 'eth_getLogs is limited to a 1 range'),
  },
  {
    node: 'QuickNode, earlier',
    from: 'thirdweb-dev/js#275',
    refuses: { blocks: 1_000 },
    status: 413,
    error: error(-32602, 'eth_getLogs and eth_newFilter are limited to a 1,000 blocks range'),
    form: 'with a result of null',
  },
  {
    node: 'QuickNode, credits',
    from: 'latticexyz/mud#1522',
    refuses: { calls: 6 },
    status: 429,
    error: error(-32012, 'credits limited to 6000/sec'),
  },
  {
    node: 'Alchemy, free',
    from: 'BobTheBuidler/dank_mids#772',
    refuses: { blocks: 10 },
    status: 400,
    error: error(
      -32600,
      'You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x123c9b2, 0x123c9bb]',
    ),
  },
  {
    node: 'Alchemy, response',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { logs: 1 },
    error: error(
      -32602,
      'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size. Based on your parameters, this block range should work: [0x65, 0x67]',
    ),
  },
  {
    node: 'Alchemy, units',
    from: 'latticexyz/mud#1522',
    refuses: { calls: 3 },
    status: 429,
    headers: { 'retry-after': '1' },
    error: error(429, 'Your app has exceeded its compute units per second capacity.'),
  },
  {
    node: 'Infura, blocks',
    from: 'INFURA/infura#237',
    refuses: { blocks: 1_000 },
    error: error(-32602, 'range 2000 exceeds limit of 1000'),
  },
  {
    node: 'Infura, day',
    from: 'MetaMask/metamask-extension#7234',
    refuses: 'all',
    status: 429,
    headers: { 'retry-after': '3600' },
    error: error(-32005, 'daily request count exceeded, request rate limited', {
      see: 'https://infura.io/docs/ethereum/jsonrpc/ratelimits',
    }),
    told: /daily request count exceeded, request rate limited/,
  },
  {
    node: 'Ankr, earlier',
    from: 'yearn/ydata#69',
    refuses: { blocks: 3 },
    error: error(-32600, 'block range is too wide'),
  },
  {
    node: 'Ankr',
    from: 'ponder-sh/ponder#1940',
    refuses: { blocks: 100 },
    error: error(-32602, 'maximum [from, to] blocks distance: 100'),
  },
  {
    node: 'dRPC',
    from: 'drpcorg free tier, as its users quote it',
    refuses: { blocks: 1_000 },
    status: 400,
    error: error(35, 'ranges over 1000 blocks are not supported on freetier'),
  },
  {
    node: 'Chainstack',
    from: 'matter-labs/zksync-era#2974',
    refuses: { blocks: 100 },
    error: error(
      -32602,
      'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
    ),
  },
  {
    node: 'Cloudflare',
    from: 'cloudflare/cloudflare-docs#414',
    refuses: { blocks: 800 },
    error: error(
      -32047,
      "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    ),
  },
  {
    node: 'Cloudflare, internal',
    from: 'cloudflare-eth.com, as its users quote it',
    refuses: { blocks: 128 },
    error: error(-32603, 'Internal error'),
  },
  {
    node: 'publicnode, history',
    from: 'allnodes publicnode, as its users quote it',
    refuses: 'all',
    status: 403,
    error: error(-32602, 'Archive requests require a personal token'),
    told: /Archive requests require a personal token/,
  },
  {
    node: '1RPC',
    from: '1rpc.io, as its users quote it',
    refuses: { blocks: 50 },
    error: error(-32602, 'eth_getLogs is limited to 0 - 50 blocks range'),
  },
  {
    node: '1RPC, bytes',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { logs: 2 },
    error: error(-32000, 'response size should not greater than 10000000 bytes'),
  },
  {
    node: 'ZKsync',
    from: 'ponder-sh/ponder#724',
    refuses: { logs: 1 },
    error: error(
      -32602,
      'Query returned more than 10000 results. Try with this block range [0x65, 0x67].',
    ),
  },
  {
    node: 'Arbitrum Nitro',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { logs: 2 },
    error: error(-32000, 'logs matched by query exceeds limit of 10000'),
  },
  {
    node: 'Moonbeam',
    from: 'moonbeam-foundation/moonbeam#3250',
    refuses: { blocks: 1_024 },
    error: error(-32603, 'block range is too wide (maximum 1024)'),
  },
  {
    node: 'Avalanche',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 200 },
    error: error(-32000, 'requested too many blocks from 101 to 2100, maximum is set to 200'),
  },
  {
    node: 'Tenderly, words in data only',
    from: 'bobanetwork/boba_legacy#827',
    refuses: { blocks: 200 },
    error: error(-32602, 'invalid params', {
      error_id: '4ed94073-0317-4648-a167-107fba5f44b3',
      payload: 'range 2000 is bigger than range limit 200',
    }),
  },
  {
    node: 'Optimism proxyd, response',
    from: 'ethereum-optimism proxyd',
    refuses: { logs: 1 },
    status: 413,
    error: error(-32020, 'backend response too large'),
  },
  {
    node: 'Optimism proxyd, backends',
    from: 'ethereum-optimism proxyd',
    refuses: { calls: 2 },
    status: 503,
    error: error(-32011, 'no backend is currently healthy to serve traffic'),
  },
  {
    node: 'Scroll',
    from: 'scroll-tech/go-ethereum#529',
    refuses: { blocks: 300 },
    error: error(-32000, 'block range is bigger than maxBlockRange'),
  },
  {
    node: 'Morph',
    from: 'enviodev/hyperindex#605',
    refuses: { blocks: 500 },
    error: error(
      -32000,
      'block range is larger than max block range, block range = 2000, max block range = 500',
    ),
  },
  {
    node: 'Candle',
    from: 'AlphaWallet/alpha-wallet-ios#5277',
    refuses: { blocks: 20 },
    error: error(-32600, 'block range too high'),
    form: 'a list of one',
  },
  {
    node: 'Polygon zkEVM',
    from: '0xPolygon/zkevm-node#3136',
    refuses: { blocks: 1_000 },
    error: error(-32602, 'logs are limited to a 1000 block range'),
  },
  {
    node: 'Aurora',
    from: 'aurora-is-near/aurora-relayer#327',
    refuses: { logs: 2 },
    error: error(-32005, 'query returned more than 10000 results', { host: 'localhost:8545' }),
  },
  {
    node: 'ZetaChain, one crowded block',
    from: 'zeta-chain/node#3265',
    refuses: { addresses: 2 },
    error: error(-32000, 'query returned more than 10000 results'),
  },
  {
    node: 'Filecoin',
    from: 'filecoin-project/ref-fvm#1206',
    refuses: { blocks: 60 },
    error: error(1, 'invalid epoch range'),
  },
  {
    node: 'thirdweb',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 350 },
    status: 400,
    error: error(-32602, 'Maximum allowed number of requested blocks is 350'),
  },
  {
    node: 'Coinbase',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 100 },
    error: error(-32602, 'please limit the query to at most 100 blocks'),
  },
  {
    node: 'Harmony',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 1_024 },
    error: error(-32000, 'query must be smaller than size 1024'),
  },
  {
    node: 'Merkle',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 1_000 },
    error: error(-32602, 'eth_getLogs range is too large, max is 1k blocks'),
  },
  {
    node: 'Blast API',
    from: 'ponder-sh/ponder getLogsRetryHelper',
    refuses: { blocks: 500 },
    error: error(-32600, 'requested range exceeds the range allowed for your plan (2000 > 500)'),
  },
  {
    node: 'a gateway that gives up',
    from: 'MetaMask/metamask-extension#1324',
    refuses: { blocks: 250 },
    status: 504,
    error: '<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n</html>',
  },
  {
    node: 'a proxy that resets',
    from: 'seen at load balancers with a limit of time',
    refuses: { blocks: 250 },
    error: null,
  },
  {
    node: 'a proxy that cuts',
    from: 'seen at gateways with a limit of bytes',
    refuses: { blocks: 250 },
    error: '',
    form: 'half of the reply',
  },
  {
    node: 'a plain sentence',
    from: 'seen at API gateways',
    refuses: { blocks: 250 },
    error: 'Request too big',
  },
  {
    node: 'an error that is a text',
    from: 'seen at API gateways',
    refuses: { blocks: 250 },
    error: '{"jsonrpc":"2.0","id":null,"error":"upstream failed"}',
  },
  {
    node: 'a wrong key',
    from: 'INFURA answers so',
    refuses: 'all',
    status: 401,
    error: 'invalid project id\n',
    told: /eth_getLogs: 401 invalid project id/,
  },
  {
    node: 'a method that is not there',
    from: 'JSON-RPC 2.0',
    refuses: 'all',
    error: error(-32601, 'the method eth_getLogs does not exist/is not available'),
    told: /-32601 the method eth_getLogs does not exist/,
  },
];
