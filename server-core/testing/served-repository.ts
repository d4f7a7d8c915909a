/** A whole server for a test: a repository of its own, every front end, and a client for each. */
import { serverOptions, type ServerOptions } from '../options.ts'
import { startServer, type RunningServer } from '../start-server.ts'
import { GrpcClient } from './grpc-client.ts'
import { HttpClient } from './http-client.ts'
import { TemporaryRepository } from './temporary-repository.ts'

export interface ServedRepository extends AsyncDisposable {
  readonly repository: TemporaryRepository
  readonly running: RunningServer
  readonly http: HttpClient
  readonly metrics: HttpClient
  readonly grpc: GrpcClient
}

/** Serves the files on free ports, without the console. Disposing closes the clients, stops the server and removes the files. */
export async function serveRepository(files: Parameters<typeof TemporaryRepository.create>[0], given: Partial<ServerOptions> = {}): Promise<ServedRepository> {
  const repository = await TemporaryRepository.create(files)
  const running = await startServer(serverOptions({ modelRepositories: [repository.path], httpPort: 0, grpcPort: 0, metricsPort: 0, console: false, ...given }))
  const { http: httpAddress, metrics: metricsAddress, grpc: grpcAddress } = running.addresses
  const http = new HttpClient(httpAddress?.port ?? 0)
  const metrics = new HttpClient(metricsAddress?.port ?? 0)
  const grpc = new GrpcClient(grpcAddress?.port ?? 0)
  return {
    repository, running, http, metrics, grpc,
    async [Symbol.asyncDispose]() {
      http.close()
      metrics.close()
      grpc.close()
      await running.stop()
      await repository[Symbol.asyncDispose]()
    },
  }
}
