// npm run bench: builds what is stale, then measures (server-core/bench/bench.ts). Flags are passed on: --rounds=3 --seconds=4.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

const node = node24()
const options = { stdio: 'inherit', cwd: projectDirectory }
const build = spawnSync(node, [join(projectDirectory, 'scripts', 'build.mjs'), '--if-stale', '--only', 'server', '--only', 'native'], options)
if (build.status !== 0) process.exit(build.status ?? 1)
process.exit(spawnSync(node, [join(projectDirectory, 'server-core', 'bench', 'bench.ts'), ...process.argv.slice(2)], options).status ?? 1)
