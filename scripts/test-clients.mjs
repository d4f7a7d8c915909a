// npm run test:clients: Triton's own Python client against a fresh server (e2e/clients/drive-tritonclient.ts). Flags are passed on: --client=grpc.aio.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

process.exit(spawnSync(node24(), [join(projectDirectory, 'e2e', 'clients', 'drive-tritonclient.ts'), ...process.argv.slice(2)], { stdio: 'inherit', cwd: projectDirectory }).status ?? 1)
