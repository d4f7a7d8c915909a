// Type-checks every folder with its own tsconfig: no DOM in the core, no Node types in the window. Arguments name folders; none = all.
import { spawnSync } from 'node:child_process'

const folders = process.argv.slice(2)
const all = ['server-core/contract', 'server-core', 'renderer', 'electron', 'e2e', 'scripts', 'native']
let failed = 0
for (const folder of folders.length > 0 ? folders : all) {
  const result = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder, '--incremental', '--tsBuildInfoFile',
    `node_modules/.cache/tsc/${folder.replaceAll('/', '-')}.tsbuildinfo`], { stdio: 'inherit' })
  if (result.status !== 0) failed++
  else console.log(`typecheck ${folder}: ok`)
}
process.exit(failed === 0 ? 0 : 1)
