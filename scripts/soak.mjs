// npm run soak: the long runs that npm test cuts short. --seconds=N sets the time of each (default 600, of the protocol fuzz 1800), --seed=N repeats one,
// --only=<name> runs one alone: config-fuzz, protocol-fuzz, server-soak, python-soak or cards. The last is the C++ one: eight instances over two simulated cards under
// ThreadSanitizer, without Node.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

// With a collection before each reading the server's memory tells what is held, not what was not collected yet.
const runs = [['config-fuzz'], ['protocol-fuzz'], ['server-soak', '--expose-gc'], ['python-soak', '--expose-gc']]
const option = (name) => process.argv.slice(2).find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const only = option('only')
if (only !== undefined && only !== 'cards' && !runs.some(([name]) => name === only)) {
  console.error(`soak: there is no '${only}': --only takes ${runs.map(([name]) => name).join(', ')} or cards`)
  process.exit(1)
}
const isWanted = (name) => only === undefined || only === name

for (const [name, ...nodeFlags] of runs.filter(([run]) => isWanted(run))) {
  const script = join(projectDirectory, 'server-core', 'soak', `${name}.ts`)
  const flags = process.argv.slice(2).filter((argument) => !argument.startsWith('--only='))
  const result = spawnSync(node24(), [...nodeFlags, script, ...flags], { stdio: 'inherit', cwd: projectDirectory })
  if (result.status !== 0) process.exit(result.status ?? 1)
}

const native = join(projectDirectory, 'native')
const seed = option('seed')
const steps = [['cmake', '--preset', 'tsan'], ['cmake', '--build', '--preset', 'tsan', '--target', 'cards_test'], [join(projectDirectory, 'build/native-tsan/test/cards/cards_test'), 'Soak']]
for (const [command, ...args] of isWanted('cards') ? steps : []) {
  const result = spawnSync(command, args, {
    stdio: 'inherit', cwd: native,
    env: { ...process.env, CARDS_SOAK_SECONDS: option('seconds') ?? '600', TSAN_OPTIONS: `suppressions=${join(native, 'test/tsan.supp')}`, ...(seed === undefined ? {} : { CARDS_SOAK_SEED: seed }) },
  })
  if (result.error !== undefined) console.error(`soak: ${command} cannot be started (${result.error.message}): install cmake, make and g++`)
  if (result.status !== 0) process.exit(result.status ?? 1)
}
