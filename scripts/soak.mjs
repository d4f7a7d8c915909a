// npm run soak: the long runs that npm test cuts short. --seconds=N shortens each (default 600).
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

const result = spawnSync(node24(), [join(projectDirectory, 'server-core', 'soak', 'config-fuzz.ts'), ...process.argv.slice(2)], { stdio: 'inherit', cwd: projectDirectory })
process.exit(result.status ?? 1)
