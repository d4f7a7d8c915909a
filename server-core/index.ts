/** What programs that embed the server use: the desktop's server process, the command line, tests. */
export { parseServeArguments } from './cli/parse-arguments.ts'
export { serveArgumentsIn } from './cli/serve-arguments-in.ts'
export { DEFAULT_SERVER_OPTIONS, serverOptions, type ServerOptions } from './options.ts'
export { startServer, type ListeningAddresses, type RunningServer, type StartServerHooks } from './start-server.ts'
export { formatLogEntry } from './log-format.ts'
export { LogHub } from './logger.ts'
export { ServerError } from './server-error.ts'
export type { InferenceServer } from './inference-server.ts'
