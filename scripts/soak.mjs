// npm run soak: the long runs that npm test cuts short. --seconds=N shortens each (default 600), --seed=N repeats one.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

// With a collection before each reading the server's memory tells what is held, not what was not collected yet.
const runs = [['config-fuzz.ts'], ['server-soak.ts', '--expose-gc']]
for (const [file, ...nodeFlags] of runs) {
  const script = join(projectDirectory, 'server-core', 'soak', file)
  const result = spawnSync(node24(), [...nodeFlags, script, ...process.argv.slice(2)], { stdio: 'inherit', cwd: projectDirectory })
  if (result.status !== 0) process.exit(result.status ?? 1)
}
