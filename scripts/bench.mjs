// npm run bench: builds what is stale, then measures (server-core/bench/bench.ts). Flags are passed on: --rounds=3 --seconds=4. --only=protocols measures
// what the protocols cost alone (server-core/bench/protocols.ts), --only=python what models in Python do (server-core/bench/python.ts).
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

const node = node24()
const options = { stdio: 'inherit', cwd: projectDirectory }
const only = process.argv.slice(2).find((argument) => argument.startsWith('--only='))?.slice('--only='.length)
if (only !== undefined && !['protocols', 'python'].includes(only)) {
  console.error(`bench: there is no '${only}': --only takes protocols and python`)
  process.exit(1)
}
const build = spawnSync(node, [join(projectDirectory, 'scripts', 'build.mjs'), '--if-stale', '--only', 'server', ...(only === 'protocols' ? [] : ['--only', 'native'])], options)
if (build.status !== 0) process.exit(build.status ?? 1)
process.exit(spawnSync(node, [join(projectDirectory, 'server-core', 'bench', `${only ?? 'bench'}.ts`), ...process.argv.slice(2).filter((argument) => !argument.startsWith('--only='))], options).status ?? 1)
